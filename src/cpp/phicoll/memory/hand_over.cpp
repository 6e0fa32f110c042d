#include "phicoll/memory/hand_over.hpp"

#include <algorithm>
#include <iterator>

#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"

namespace phicoll {

constexpr unsigned HandOver::pieces_a_look;
constexpr unsigned HandOver::first_looks;
constexpr unsigned HandOver::looks_a_peer;
constexpr std::size_t HandOver::bytes_a_look;
constexpr std::uint64_t HandOver::lines_apart;

namespace {

// How long all ranks of a crowded group, one with more ranks than CPUs, take their peers for far after one of
// them found that.
constexpr std::int64_t far_for_ns = 10 * 1000 * 1000;

/// Clock cycles between two readings of the clock with a read between them. Earlier stores are done before it
/// begins.
template <class Read>
std::uint64_t cycles_with(const Read& read) {
  arch::full_fence();
  arch::look_gap();
  const std::uint64_t start = arch::cycles();
  arch::look_gap();
  read();
  arch::look_gap();
  return arch::cycles() - start;
}

/// Cycles of one read from where the line is now, minus those of a second read from the nearest cache.
template <class Read>
std::uint32_t cycles_of(const Read& read) {
  const std::uint64_t first = cycles_with(read);
  const std::uint64_t again = cycles_with(read);
  return first > again ? static_cast<std::uint32_t>(std::min<std::uint64_t>(first - again, UINT32_MAX)) : 0;
}

/// The fastest of several reads of a line of this rank's that was dropped from all caches.
std::uint32_t cycles_from_memory() {
  struct alignas(arch::stride_bytes) Line {
    volatile std::uint64_t word;
  } line = {1};
  std::uint32_t least = UINT32_MAX;
  for (int i = 0; i < 8; ++i) {
    arch::evict_line(&line);
    least = std::min(least, cycles_of([&line] { (void)line.word; }));
  }
  return std::max<std::uint32_t>(least, 1);
}

/// Whether a line came from this CPU's own caches, because its writer had run on this CPU or the CPU had
/// fetched the line before. Its time says nothing of other CPUs, for which moves past the caches matter.
bool is_here(std::uint32_t from_peer, std::uint32_t from_memory) {
  return 10 * std::uint64_t{from_peer} < from_memory;
}

std::uint32_t middle(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

}  // namespace

/// Even ranks begin with the next rank, odd ones with the one before, so that two ranks seldom look at the
/// same line: four ranks on two CPUs all begin with different ones, whichever of them share a CPU.
bool HandOver::next_peer(const Control& control, int rank) {
  const int ranks = control.ranks();
  const int last = peer_ == any_rank ? rank : peer_;
  for (int i = 1; i <= ranks; ++i) {
    const int next = (rank % 2 == 0 ? last + i : last + ranks - i) % ranks;
    if (next == rank || control.beside(next, rank)) continue;
    if (next != peer_) std::fill(std::begin(seen_), std::end(seen_), 0);
    peer_ = next;
    return true;
  }
  return false;
}

/// Whether the peer has written to the line of its calls that begins with entry `first` since this rank last
/// saw it.
bool HandOver::changed(const CallBoard& board, unsigned first) {
  bool any = false;
  for (unsigned i = first; i < first + CallBoard::a_line; ++i) {
    const std::uint64_t now = board.noted(peer_, i);
    any = any || now != seen_[i];
    seen_[i] = now;
  }
  return any;
}

// The line is a peer's on the board of calls, written as its calls begin and end, and seldom read by others.
// If it differs from what this rank last saw, it came from the peer's cache or from where that evicted it. If
// not, it was already here and tells nothing.
//
// A CPU that reads one of a peer's two lines may fetch the other as well. So this rank reads both and times
// one only if the peer has written to it since. Otherwise a rank that comes first to calls would take far
// peers for near ones.
bool HandOver::look_at_peer(const Control& control, const CallBoard& board, int rank, std::uint64_t call) {
  const bool beside = peer_ != any_rank && control.beside(peer_, rank);
  if (looks_ != 0) far_ = is_far(usual());
  if ((looks_ % looks_a_peer == 0 || beside) && !next_peer(control, rank)) {
    far_ = false;  // all are on this CPU
    return false;
  }
  if (from_memory_ == 0) from_memory_ = cycles_from_memory();
  const auto first =
      static_cast<unsigned>(call % CallBoard::remembered / CallBoard::a_line * CallBoard::a_line);
  const std::uint32_t from_peer = cycles_of([&] { board.noted(peer_, first); });
  static_assert(CallBoard::remembered == 2 * CallBoard::a_line, "a rank has two lines");
  const bool written = changed(board, first);
  changed(board, CallBoard::a_line - first);
  if (!written || is_here(from_peer, from_memory_)) return true;  // the next call tries again
  judge(from_peer, from_memory_);
  return true;
}

/// Whether to look: always among the first looks, then if the last one was long ago.
bool HandOver::is_due() {
  const std::uint64_t now = arch::cycles();
  if (looks_ >= first_looks && now - looked_at_ < lines_apart * from_memory_) {
    pieces_ = 0;
    bytes_ = 0;
    return false;
  }
  looked_at_ = now;
  return true;
}

void HandOver::look(Control& control, int rank, std::uint64_t call) {
  const CallBoard* const board = control.board();
  if (board == nullptr || call == looked_in_call_ || !is_due()) return;
  looked_in_call_ = call;
  if (control.roams(rank)) control.note_cpu(rank, os::current_cpu());
  const unsigned before = looks_;
  if (!look_at_peer(control, *board, rank, call) || !control.crowded()) return;
  // Another rank of this CPU may have brought the line here, so that the peer seems near. A near peer seems
  // far when its line was evicted: rarely three times in a row, while a far one usually does.
  const std::int64_t now = os::now_ns();
  if (looks_ != before && looks_ >= 3 &&
      is_far(*std::min_element(std::begin(from_peers_), std::end(from_peers_))))
    control.note_far(now);
  else
    far_ = far_ || control.far_ns() + far_for_ns > now;
}

void HandOver::look(const Word<std::uint64_t>& word) {
  if (!is_due()) return;
  if (from_memory_ == 0) from_memory_ = cycles_from_memory();
  std::uint64_t now = 0;
  const std::uint32_t from_peer = cycles_of([&] { now = word.atomic().load(std::memory_order_acquire); });
  if (now == seen_[0]) return;  // the next piece tries again
  seen_[0] = now;
  if (is_here(from_peer, from_memory_)) return;
  judge(from_peer, from_memory_);
}

// The median of the last three, so that one interrupt decides nothing.
void HandOver::judge(std::uint32_t from_peer, std::uint32_t from_memory) {
  if (looks_ == 0) from_peers_[0] = from_peers_[1] = from_peer;
  from_peers_[looks_++ % 3] = from_peer;
  pieces_ = 0;
  bytes_ = 0;
  if (looks_ >= first_looks) until_look_ = pieces_a_look;
  from_memory_ = from_memory;
  far_ = is_far(usual());
}

bool HandOver::is_far(std::uint64_t from_peer) const {
  return 100 * from_peer >= percent_ * from_memory_;
}

std::uint64_t HandOver::usual() const {
  return middle(from_peers_[0], from_peers_[1], from_peers_[2]);
}

std::uint64_t HandOver::percent() const {
  return looks_ == 0 ? 0 : 100 * usual() / std::max<std::uint32_t>(from_memory_, 1);
}

}  // namespace phicoll
