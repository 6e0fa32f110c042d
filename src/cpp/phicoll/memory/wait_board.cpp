#include "phicoll/memory/wait_board.hpp"

#include <algorithm>
#include <utility>

#include "phicoll/memory/control.hpp"

namespace phicoll {

namespace {

// How long a rank that ends by an exception has to say why. A message on its way has arrived by then.
constexpr std::int64_t patience_ns = 250 * 1000 * 1000;
constexpr int ranks_told = 6;

std::string with_tag(std::int32_t tag) {
  return tag < 0 ? "" : " with tag " + std::to_string(tag);
}

/// "rank 1 waits in collective call 3; rank 2 has left"
std::string others_in_words(const Control& group, int rank) {
  std::string words;
  int told = 0;
  for (int r = 0; r < group.ranks(); ++r) {
    if (r == rank) continue;
    if (++told > ranks_told) return words + "; ...";
    words += (told > 1 ? "; rank " : "rank ") + std::to_string(r) + " " +
             (group.has_left(r) ? "has left" : group.wait_mark(r).in_words());
  }
  return words;
}

/// What a send or receive awaits.
std::string message_in_words(bool sends, std::uint64_t peer_and_tag) {
  const auto peer = static_cast<std::int32_t>(peer_and_tag >> 32);
  const auto tag = static_cast<std::int32_t>(peer_and_tag);
  const std::string who = peer < 0 ? "any rank" : "rank " + std::to_string(peer);
  return (sends ? who + " to receive a message" : "a message from " + who) + with_tag(tag);
}

constexpr std::uint32_t four_bits = 15;

}  // namespace

std::string WaitMark::request_in_words(std::size_t i) const {
  const auto kind = static_cast<WaitNote::Kind>(
      kind_.atomic().load(std::memory_order_relaxed) >> (kinds_at + kind_bits * i) & four_bits);
  if (kind == WaitNote::Kind::nonblocking) return "a nonblocking call";
  return message_in_words(kind == WaitNote::Kind::send, what_[i].atomic().load(std::memory_order_relaxed));
}

std::string WaitMark::in_words() const {
  const std::uint32_t kinds = kind_.atomic().load(std::memory_order_relaxed);
  const auto kind = static_cast<WaitNote::Kind>(kinds & four_bits);
  const std::uint64_t what = what_[0].atomic().load(std::memory_order_relaxed);
  switch (kind) {
    case WaitNote::Kind::collective:
      return "waits in collective call " + std::to_string(what);
    case WaitNote::Kind::nonblocking:
      return "waits for nonblocking call " + std::to_string(what);
    case WaitNote::Kind::receive:
    case WaitNote::Kind::send:
      return "waits for " + message_in_words(kind == WaitNote::Kind::send, what);
    case WaitNote::Kind::requests:
      break;
  }
  const std::size_t count =
      std::min<std::size_t>(kinds >> count_at & four_bits, std::size_t{WaitedRequests::told});
  std::string words;
  for (std::size_t i = 0; i < count; ++i) words += (i == 0 ? "" : " or ") + request_in_words(i);
  return "waits for " + words + ((kinds >> more_at & 1) != 0 ? " or others" : "");
}

void StuckSearch::check(Control& control, int rank, std::int64_t waited_ns) {
  if (waited_ns < patience_ns) return;
  Control& group = control.root();
  const int self = control.root_rank(rank);
  const WaitMark& own = group.wait_mark(self);
  if (own.seen().wait != wait_) {
    wait_ = own.seen().wait;
    peer_had_left_ = false;
    seen_.clear();
  }
  if (peer_had_left_) group.break_group(self, (own.in_words() + ", which has left").c_str());
  // It sent everything before it left, so the next look sees all of it.
  peer_had_left_ = note.peer >= 0 && group.has_left(control.root_rank(note.peer));

  bool all_wait = true;
  bool as_before = !seen_.empty();
  bool all_looked = true;
  std::vector<WaitMark::Seen> now;
  for (int r = 0; r < group.ranks(); ++r) {
    WaitMark::Seen mark;
    mark.left = group.has_left(r);
    if (!mark.left) mark = group.wait_mark(r).seen();
    all_wait = all_wait && (mark.left || WaitMark::waiting(mark.wait));
    if (as_before) {
      const WaitMark::Seen& before = seen_[now.size()];
      as_before = mark.left == before.left && mark.wait == before.wait;
      all_looked = all_looked && (mark.left || mark.looks >= before.looks + 2);
    }
    now.push_back(mark);
  }
  if (!all_wait) {
    seen_.clear();
  } else if (!as_before) {
    seen_ = std::move(now);
  } else if (all_looked) {
    const std::string others = group.ranks() > 1 ? others_in_words(group, self) : "it is alone";
    group.break_group(self, (own.in_words() + ", which cannot end: " + others).c_str());
  }
}

}  // namespace phicoll
