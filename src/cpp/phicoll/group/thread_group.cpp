#include "phicoll/group/thread_group.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/group/calibration.hpp"
#include "phicoll/group/layout.hpp"
#include "phicoll/group/tuning.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/membarrier.hpp"

namespace phicoll {

/// Zeroed pages that their first toucher places.
struct ThreadGroup::Memory {
  Memory(std::size_t region_bytes, std::size_t heap_bytes, std::int64_t numbers_after_ms)
      : bytes(GroupLayout::total(region_bytes, heap_bytes)) {
    base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
      throw ResourceError("memory_limit: " + std::to_string(bytes) +
                          " bytes of memory could not be allocated");
    memory = GroupLayout::at(base, region_bytes, heap_bytes);
    GroupLayout::prepare(base, region_bytes, heap_bytes, numbers_after_ms);
  }
  ~Memory() { munmap(base, bytes); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::size_t bytes;
  void* base;
  GroupMemory memory;
};

ThreadGroup::ThreadGroup(int ranks, const GroupOptions& options)
    : options_(options), shape_(shape_on_host(ranks, options.placement)) {
  check_options(options);
  begin_with_numbers();
  tune(&shape_, load_tuning(tuning_source(options), TuningMode::threads));
  os::register_membarrier();
}

ThreadGroup::~ThreadGroup() = default;

void ThreadGroup::begin_with_numbers() {
  HostNumbers host = stored_numbers();
  if (may_calibrate(options_, host) && lacks_numbers(host, shape_, os::allowed_cpu_count()))
    host.state = HostNumbers::wanted;
  shape_.set_host(host);
}

bool ThreadGroup::broken() const {
  return memory_ && memory_->memory.control->broken();
}

void ThreadGroup::run(const std::function<void(Communicator&)>& function) {
  struct Running {
    explicit Running(std::atomic<bool>& state) : flag(state) {
      // acq_rel: a run begins after all that the one before has done.
      if (flag.exchange(true, std::memory_order_acq_rel))
        throw Error("run: this group is running already; allowed: one run at a time");
    }
    ~Running() { flag.store(false, std::memory_order_release); }
    std::atomic<bool>& flag;
  };
  const Running running(running_);
  if (shape_.host().state == HostNumbers::wanted) {  // an earlier run may have measured
    begin_with_numbers();
    tune(&shape_, shape_.tuning());
  }
  memory_.reset();
  memory_.reset(
      new Memory(options_.memory_limit, heap_bytes_here(options_, size()), options_.calibrate_after_ms));
  const GroupMemory& memory = memory_->memory;
  memory.control->configure(size(), false, os::allowed_cpu_count(), options_.timeout_ms * 1000000);
  for (int r = 0; r < size(); ++r) {
    memory.control->set_cpu(r, shape_[r].cpu);
    memory.control->set_pid(r, getpid());
  }

  // The exception that is thrown in the end: the first cause. The rank that breaks the group leaves its call
  // last, so peers that hear of it may be here first.
  std::mutex first_mutex;
  std::exception_ptr cause;
  std::exception_ptr consequence;
  const auto failed = [&](int rank, const char* reason, bool caused) {
    {
      const std::lock_guard<std::mutex> lock(first_mutex);
      std::exception_ptr& first = caused ? cause : consequence;
      if (!first) first = std::current_exception();
    }
    memory.control->break_group(rank, reason);
  };
  const auto body = [&](int rank) {
    try {
      if (shape_[rank].cpu >= 0) os::pin_this_thread(shape_[rank].cpu);
      Communicator communicator(memory, rank, shape_, options_.wait);
      function(communicator);
    } catch (const BrokenGroupError& error) {
      failed(rank, error.what(), error.rank() == rank);
    } catch (const std::exception& error) {
      failed(rank, error.what(), true);
    } catch (...) {
      failed(rank, "raised something that is not an exception", true);
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(size()));
  try {
    for (int r = 0; r < size(); ++r) threads.emplace_back(body, r);
  } catch (const std::exception& error) {
    const int rank = static_cast<int>(threads.size());
    try {
      throw ResourceError("ranks: no thread could be started for rank " + std::to_string(rank) + " of " +
                          std::to_string(size()) + ": " + error.what());
    } catch (const ResourceError& named) {
      failed(rank, named.what(), true);
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (cause || consequence) std::rethrow_exception(cause ? cause : consequence);
  if (memory.control->ended_at_odds())
    throw BrokenGroupError(memory.control->broken_rank(), memory.control->broken_reason());
}

}  // namespace phicoll
