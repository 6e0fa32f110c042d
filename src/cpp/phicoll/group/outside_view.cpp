#include "phicoll/group/outside_view.hpp"

#include <climits>

#include "phicoll/errors.hpp"
#include "phicoll/group/layout.hpp"

namespace phicoll {

namespace {
constexpr const char* was_overwritten = "the group's shared memory was overwritten";
}

constexpr const char* OutsideView::died;

OutsideView::OutsideView(void* memory, int ranks)
    : control_(static_cast<Control*>(memory)),
      header_(GroupLayout::header_at(memory)),
      ranks_(ranks),
      constants_(control_->constants()),
      region_bytes_(header_->region_bytes),
      heap_bytes_(header_->heap_bytes),
      launcher_(header_->launcher_pid) {}

bool OutsideView::overwritten() const {
  return !control_->has(constants_) || !untrusted(header_->magic).is(ProcessHeader::expected_magic) ||
         !untrusted(header_->ranks).is(ranks_) || !untrusted(header_->region_bytes).is(region_bytes_) ||
         !untrusted(header_->heap_bytes).is(heap_bytes_);
}

bool OutsideView::broken() {
  if (control_->broken_from_outside() || !own_.reason.empty()) return true;
  if (!overwritten()) return false;
  break_group(any_rank, was_overwritten);
  return true;
}

OutsideView::Cause OutsideView::cause() const {
  if (overwritten()) {
    // Any rank may have written what lies there.
    if (own_.reason.empty()) return {any_rank, was_overwritten};
    if (own_.reason == was_overwritten) return own_;
    return {own_.rank, own_.reason + "; " + was_overwritten};
  }
  if (control_->broken_from_outside()) {
    const Cause noted{control_->broken_rank_from_outside(ranks_), control_->broken_reason_from_outside()};
    // A peer sees only that a process has ended; whoever waited for it knows how.
    if (noted.reason == died && noted.rank == own_.rank && !own_.reason.empty()) return own_;
    if (!noted.reason.empty() || own_.reason.empty()) return noted;
  }
  return own_;
}

void OutsideView::throw_if_broken() {
  if (!broken()) return;
  const Cause found = cause();
  throw BrokenGroupError(found.rank, found.reason);
}

void OutsideView::break_group(int rank, const std::string& reason) {
  if (own_.reason.empty()) own_ = Cause{rank, reason};
  control_->break_from_outside(rank, reason.c_str());
}

void OutsideView::note_started(int rank, pid_t pid) {
  header_->members[rank].started.atomic().store(static_cast<std::uint32_t>(pid), std::memory_order_release);
}

pid_t OutsideView::checked_pid(const Word<std::uint32_t>& word) {
  return static_cast<pid_t>(untrusted(word).below(std::uint32_t{1} << 31, 0));
}

}  // namespace phicoll
