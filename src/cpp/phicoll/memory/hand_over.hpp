#pragma once

// Decides how to copy data that another CPU reads next, by the way that reaches its readers soonest: ordinary
// stores, the CPU's string move, or past the caches. A ring's lines are still in their readers' caches when
// they are written again.
//
// - Between CPUs that share a cache, ordinary stores take the lines back at once, and the readers find the
//   data in that cache.
// - Between CPUs that share none, a line from another cache takes longer than one from memory, in both
//   directions, and stores past the caches win.

#include <cstddef>
#include <cstdint>

#include "phicoll/arch/arch.hpp"
#include "phicoll/arch/streaming.hpp"
#include "phicoll/memory/call_board.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/memory/word.hpp"

// Neither side's cost alone tells which case applies, and a virtual machine's word about its caches cannot be
// trusted: its CPUs move within seconds. The time of a single line does tell (docs/bench/behind-the-code.md).
// So now and then a rank reads a line that another has just written, and learns whether the peer is near or
// far. Where ranks share CPUs, one that finds others far tells its group, which believes it for 10 ms. The
// best way for each case is one of the host's numbers.
namespace phicoll {

/// What a rank knows of its distance from its peers in a group. It affects how bytes are copied, never which
/// bytes arrive.
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
  /// Whether the peers are far. To be asked before a piece of `bytes` bytes is handed over, in call number
  /// `call`, a data collective.
  bool far(std::size_t bytes, Control& control, int rank, std::uint64_t call) {
    bytes_ += bytes;
    if (__builtin_expect(++pieces_ >= until_look_ || bytes_ >= bytes_a_look, 0)) look(control, rank, call);
    return far_;
  }
  /// How that piece is copied.
  arch::CopyWay way(std::size_t bytes, Control& control, int rank, std::uint64_t call) {
    return far(bytes, control, rank, call) ? far_way_ : near_way_;
  }
  /// How a piece is copied for one peer, which writes to `word` whenever it has taken one. Only this function
  /// reads the word, and only its line's distance counts. Ordinary stores before the first look.
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
  // Looks are at least as far apart as so many lines from memory, some 100 us: CPUs move within seconds. A
  // look takes as long as a small call, and the peer has to take its lines back. A rank that looked at each
  // call also often found a far peer's line in its own caches, presumably fetched with its own lines, and
  // then read large data in place at a loss. (A line from memory takes the same time whatever a peer's takes,
  // so it is timed once.)
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
