#include "phicoll/group/member.hpp"

#include <cstring>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/registry/make.hpp"
#include "phicoll/collectives/registry/signature.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/layout.hpp"

namespace phicoll {

namespace {

const std::atomic<int> none_begun{0};

}  // namespace

Member::Member(const GroupMemory& memory, int rank, const Shape& shape, const WaitPolicy& wait)
    : memory_(memory),
      rank_(rank),
      shape_(shape),
      size_(shape.size()),
      wait_(wait),
      region_(memory.region_bytes, memory.used_before),
      port_(*memory.control, rank, WaitPolicy{}, &calls_),
      sync_(make_collective<NativePort>(Operation::barrier, family(Operation::barrier).parse(sync_algorithm),
                                        Setup{rank, shape_, memory.sync})),
      hand_over_(shape.host()),
      heap_(*memory.control, memory.control->root_rank(rank), memory.heap, memory.reserve_heap),
      board_(memory.control->board()),
      begun_(&none_begun) {
  if (!memory_.work) memory_.work = std::make_shared<RankWork>();
  equip(port_);
  CallBoard::set_describe(&call_signature::in_words);
  if (memory_.nonblocking == nullptr) begun_ = &memory_.work->begun();
}

void Member::look() {
  check_process();
  if (__builtin_expect(memory_.control->broken(), 0)) memory_.control->check_broken(rank_);
  const bool moved = memory_.work->look(nullptr);
  const WaitNote anything = {WaitNote::Kind::receive, any_source, any_tag, 0};
  memory_.work->end_look(moved, [&] { return RankWork::Looked{*memory_.control, rank_, anything}; });
}

void Member::set_interpreter(Interpreter* interpreter) {
  memory_.work->set_interpreter(interpreter);
}

void Member::set_progress(void (*progress)()) {
  check_process();
  memory_.work->set_progress(progress);
}

void Member::fail(const std::exception& error) {
  std::string text = error.what();
  text = text.substr(0, text.find('\n'));
  const std::string none = ": <EMPTY MESSAGE>";  // how pybind11 ends an exception of Python's without a text
  if (text.size() > none.size() && text.compare(text.size() - none.size(), none.size(), none) == 0)
    text.resize(text.size() - none.size());
  fail("raised " + text);
}

// fork() has copied all of it, and no other process knows the copy.
bool Member::has_private_copy() const {
  const Control& whole = memory_.control->root();
  return whole.ranks() == 1 && !whole.shared();
}

void Member::enter_from_fork() {
  if (!has_private_copy())
    throw Error("this process was forked by rank " + std::to_string(root_rank()) +
                " and is not a rank of its group; allowed: calls by the rank's own process");
  home_ = os::HomeProcess();
}

void Member::sync() {
  calls_.begin();
  sync_->bare()(*sync_, port_);
}

// Memory that was never used is zero already, and peers that come first may write to it before this rank is
// here. Memory that was used is zeroed by rank 0 between two barriers: after the first, no rank is in its
// former use; before the second, none is in its next.
Region::Block Member::take_zeroed(std::size_t bytes, const std::size_t* place) {
  check_process();
  const Region::Block block = place != nullptr ? region_.take_at(*place, bytes) : region_.take(bytes);
  if (memory_.reserve) try {
      reserve_own_part(block);
    } catch (const std::exception& error) {
      // No memory is left for this rank's part, which the others cannot know.
      memory_.control->break_group(rank_, error.what());
      throw;
    }
  if (block.used_before) {
    sync();
    if (rank_ == 0) std::memset(memory_.region + block.offset, 0, block.bytes);
    sync();
  }
  return block;
}

// Each rank marks all pages of the block, and takes its own share of those that were not taken before.
void Member::reserve_own_part(const Region::Block& block) {
  const std::size_t first = block.offset / page_bytes;
  const std::size_t pages = (block.offset + block.bytes - 1) / page_bytes - first + 1;
  reserved_.resize((memory_.region_bytes + page_bytes - 1) / page_bytes, false);
  std::size_t run = 0;  // own pages in a row that are still to be taken
  for (std::size_t i = 0; i <= pages; ++i) {
    const bool mine = i < pages && !reserved_[first + i] &&
                      i * static_cast<std::size_t>(size()) / pages == static_cast<std::size_t>(rank_);
    if (i < pages) reserved_[first + i] = true;
    if (mine) {
      ++run;
    } else if (run != 0) {
      memory_.reserve((first + i - run) * page_bytes, run * page_bytes);
      run = 0;
    }
  }
}

}  // namespace phicoll
