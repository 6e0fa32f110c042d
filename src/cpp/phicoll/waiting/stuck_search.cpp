#include "phicoll/waiting/stuck_search.hpp"

#include <string>
#include <utility>

namespace phicoll {

namespace {

// How long a rank that ends by an exception has to say why. A message on its way has arrived by then.
constexpr std::int64_t patience_ns = 250 * 1000 * 1000;
constexpr int ranks_told = 6;

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

}  // namespace

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
