#pragma once

// Decides how to copy data that another CPU reads next, by the way that reaches its readers soonest: ordinary stores,
// the CPU's string move, or past the caches.
//
// A ring's lines are still in their readers' caches when they are written again.
//
// - Between CPUs that share a cache, ordinary stores take the lines back at once, and the readers find the
//   data in that cache.
// - Between CPUs that share none, a line from another cache takes longer than one from memory, in both
//   directions, and stores past the caches win.
//
// Neither side's cost alone tells which case applies, and what a virtual machine says about its caches cannot be
// trusted: its CPUs move within seconds. The time that one line takes does tell. On an EPYC it is 26 ns within a cache,
// 120 ns from one cache to the next and 110 ns from memory. So now and then a rank reads a line that another has just
// written, and so learns whether the peer is near or far. Where ranks share CPUs, one that finds others far tells its group, which
// believes it for 10 ms. The best way for each is one of the host's numbers.

#include <cstddef>
#include <cstdint>

#include "phicoll/arch/arch.hpp"
#include "phicoll/arch/streaming.hpp"
#include "phicoll/memory/call_board.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

/// What a rank knows of its distance from its peers in a group. It affects how bytes are copied, never which bytes
/// arrive.
class HandOver {
 public:
  explicit HandOver(const HostNumbers& host = HostNumbers()) { set_host(host); }
  void set_host(const HostNumbers& host) {
    percent_ = static_cast<std::uint64_t>(host.far);
    near_way_ = way_of(host.near_copy);
    far_way_ = way_of(host.far_copy);
    take_way_ = way_of(host.take_copy);
    few_way_ = way_of(host.few_copy);
    receive_few_way_ = arch::has_copy_way(static_cast<arch::CopyWay>(host.few_copy)) ? few_way_ : take_way_;
  }
  /// The way with this number; the C library's if this CPU lacks it (another host's table may name any).
  static arch::CopyWay way_of(std::int64_t number) {
    const auto way = static_cast<arch::CopyWay>(number);
    return arch::has_copy_way(way) ? way : arch::CopyWay::ordinary;
  }
  /// Whether the peers are far. To be asked before a piece of `bytes` bytes is handed over, in call number `call`, a
  /// data collective.
  bool far(std::size_t bytes, Control& control, int rank, std::uint64_t call) {
    bytes_ += bytes;
    if (__builtin_expect(++pieces_ >= until_look_ || bytes_ >= bytes_a_look, 0)) look(control, rank, call);
    return far_;
  }
  /// How that piece is copied.
  arch::CopyWay way(std::size_t bytes, Control& control, int rank, std::uint64_t call) {
    return far(bytes, control, rank, call) ? far_way_ : near_way_;
  }
  /// How a piece is copied for one peer, which writes to `word` whenever it has taken one. Only this function reads the
  /// word, and only its line's distance counts. Ordinary stores before the first look.
  arch::CopyWay way(std::size_t bytes, const Word<std::uint64_t>& word) {
    bytes_ += bytes;
    if (__builtin_expect(++pieces_ >= until_look_ || bytes_ >= bytes_a_look, 0)) look(word);
    return far_ && looks_ != 0 ? far_way_ : near_way_;
  }
  /// How to copy a piece that a peer handed over.
  arch::CopyWay take_way() const { return take_way_; }
  /// The same where this rank only takes.
  arch::CopyWay receive_way(std::size_t bytes) const {
    return arch::copies_few(bytes) ? receive_few_way_ : take_way_;
  }
  /// How to copy what is in this CPU's caches, if arch::copies_few.
  arch::CopyWay few_way() const { return few_way_; }
  /// The time of a peer's line, in percent of that of one from memory; 0 before the first look.
  std::uint64_t percent() const;

 private:
  friend struct HandOverProbe;  // a test that sets what lines take

  static constexpr unsigned pieces_a_look = 32;
  static constexpr unsigned first_looks = 4;  // in quick succession
  static constexpr unsigned looks_a_peer = 4;
  static constexpr std::size_t bytes_a_look = std::size_t{1} << 20;
  // Looks are at least so many lines from memory apart, some 100 us: CPUs move within seconds. A look takes as long as some small
  // calls, and the peer has to take its lines back. With looks by pieces alone loops of broadcasts took 1.7 (1 KB) and 1.2 (4 KB)
  // of the time, of gathers 1.5 (1 KB).
  // And a rank that looked at each call often found a far peer's line in its own caches, presumably fetched with its own lines: in
  // a third of looks at the begin of calls that may read in place. Broadcasts of 1 MB in the heap were then read in place and took
  // twice the time where a line takes 370 ns; of looks 100 us apart 0 to 4 percent find that. (A line from memory takes 90 to 130 ns whatever a
  // peer's takes, so it is timed once.)
  static constexpr std::uint64_t lines_apart = 1024;

  [[gnu::noinline, gnu::cold]] void look(Control& control, int rank, std::uint64_t call);
  [[gnu::noinline, gnu::cold]] void look(const Word<std::uint64_t>& word);
  /// Returns whether there is one on another CPU.
  bool look_at_peer(const Control& control, const CallBoard& board, int rank, std::uint64_t call);
  bool is_far(std::uint64_t from_peer) const;
  bool is_due();
  bool changed(const CallBoard& board, unsigned first);
  bool next_peer(const Control& control, int rank);
  void judge(std::uint32_t from_peer, std::uint32_t from_memory);
  std::uint64_t usual() const;  ///< cycles of a peer's line: the median of the last three

  std::size_t bytes_ = 0;
  std::uint64_t looked_in_call_ = 0;
  std::uint64_t seen_[CallBoard::remembered] = {};  // the peer's entries
  unsigned pieces_ = 0;
  unsigned until_look_ = 1;
  unsigned looks_ = 0;
  std::uint64_t looked_at_ = 0;  // by the clock of cycles
  int peer_ = any_rank;
  bool far_ = arch::hand_over_bytes != SIZE_MAX;
  arch::CopyWay near_way_;
  arch::CopyWay far_way_;
  arch::CopyWay take_way_;
  arch::CopyWay few_way_;
  arch::CopyWay receive_few_way_;
  std::uint64_t percent_;
  std::uint32_t from_memory_ = 0;     // cycles
  std::uint32_t from_peers_[3] = {};  // the last three
};

}  // namespace phicoll
