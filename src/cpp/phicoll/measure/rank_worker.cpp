#include "phicoll/measure/rank_worker.hpp"

#include <pthread.h>

#include <cassert>
#include <cstdio>
#include <cstring>

#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/measure/copy_probe.hpp"
#include "phicoll/measure/data_steps.hpp"
#include "phicoll/measure/hand_loops.hpp"
#include "phicoll/measure/probes.hpp"
#include "phicoll/measure/program_step.hpp"
#include "phicoll/measure/subjects.hpp"
#include "phicoll/os/cpu_set.hpp"

namespace phicoll {
namespace measure {

namespace {

constexpr std::size_t extra_bytes = 4096;
// Buffers begin at any line of a page.
constexpr std::size_t buffer_places = 4096;

class RankWorker {
 public:
  RankWorker(Communicator& communicator, StepBoard& board, const std::vector<ExtraReference>& extras)
      : communicator_(communicator),
        extras_(extras),
        seat_{board, communicator.rank(), communicator.size(),
              communicator.control().shares_cpu(communicator.rank()), nullptr},
        // Lies at the region's front, where no round has its place. Adaptive, whatever the group's policy is.
        meeting_(family(Operation::barrier).parse("sense-reversing:wait=adaptive")),
        buffers_(communicator.rank(), communicator.size(), &communicator) {}

  void run(const Step& step, RankReport& report) {
    switch (step.kind) {
      case StepKind::probe_alone:
      case StepKind::probe_far:
      case StepKind::probe_near: {
        NativePort port(communicator_.control(), seat_.rank, communicator_.wait_policy());
        Probes(seat_, port, communicator_.region() + step.place).run(step, report);
        break;
      }
      case StepKind::probe_copy:
        buffers_.prepare(step.work, step.place % buffer_places);
        buffers_.fill(step.seed);
        communicator_.collectives().release();
        communicator_.select_at(Operation::barrier, meeting_, 0);
        run_copy_probe(seat_, step, communicator_, buffers_);
        communicator_.barrier();
        break;
      default:
        run_subject(step, report);
    }
    report.cpu = os::current_cpu();
  }

 private:
  /// A program's memory in the group's heap, as long as a step runs.
  class ProgramMemory {
   public:
    /// 1. Rank 0 allocates, and writes to the front of the subject's place how far from the region it lies:
    ///    processes may map the group's memory at different addresses.
    /// 2. The meetings before and after the others' reading keep that word theirs.
    ProgramMemory(RankWorker& worker, const programs::ProgramChoice& program) : worker_(worker) {
      if (!program.any()) return;
      Communicator& communicator = worker.communicator_;
      communicator.select_at(Operation::barrier, worker.meeting_, 0);
      auto* const word = reinterpret_cast<std::int64_t*>(worker.seat_.memory);
      if (communicator.rank() == 0) {
        memory_ = communicator.allocate(program.shared_bytes(communicator.size()));
        *word = static_cast<unsigned char*>(memory_) - communicator.region();
      }
      communicator.barrier();
      worker.seat_.shared = communicator.region() + *word;
      communicator.barrier();
      worker.clear(worker.seat_.memory, sizeof *word);
    }
    ProgramMemory(const ProgramMemory&) = delete;
    ProgramMemory& operator=(const ProgramMemory&) = delete;
    /// The others are done with it: they met after their checks.
    ~ProgramMemory() {
      worker_.seat_.shared = nullptr;
      if (memory_ == nullptr) return;
      try {
        worker_.communicator_.release(memory_);
      } catch (const Error&) {
        // The group is broken; its heap goes with it.
      }
    }

   private:
    RankWorker& worker_;
    void* memory_ = nullptr;  // on rank 0
  };

  void run_subject(const Step& step, RankReport& report) {
    const Subject subject = parse_subjects(step.algorithm, step.work).at(0);
    seat_.memory = communicator_.region() + step.place;
    communicator_.collectives().release();
    const ProgramMemory program(*this, step.work.program);
    if (step.work.moves_data() && subject.reference) {
      communicator_.select_at(Operation::barrier, meeting_, 0);
      buffers_.prepare(step.work, step.place % buffer_places);
      assert(!is_openmp_reference(subject.info.name));  // they have ranks of their own
      if (subject.spec.name.empty()) {
        clear(seat_.memory, hand_data_footprint());
        run_hand_step(seat_, step, seat_.memory, buffers_, report);
        communicator_.barrier();
        clear(seat_.memory, hand_data_footprint());
        return;
      }
      const BareLoopParameters loop = bare_loop_parameters(subject);
      BareLoop::prepare(loop, seat_.memory, seat_.rank, seat_.ranks, step.work);
      communicator_.barrier();
      run_bare_step(seat_, step, loop, buffers_, report);
      communicator_.barrier();
      clear(seat_.memory, subject_footprint(subject, communicator_.shape()));
      return;
    }
    if (step.work.moves_data()) {
      communicator_.select_at(Operation::barrier, meeting_, 0);  // away from the round's place
      communicator_.select_at(step.work.operation, subject.spec, step.place);
      // The buffers of all ranks move with the round as well, by the same offset.
      buffers_.prepare(step.work, step.place % buffer_places);
      run_data_step(seat_, step, communicator_, buffers_, subject.prepared(), report);
      return;
    }
    if (!subject.reference) {
      if (moves_data(step.work.operation)) communicator_.select_at(Operation::barrier, meeting_, 0);
      communicator_.select_at(step.work.operation, subject.spec, step.place);
      // Captured by value: a program calls barrier() on a communicator that it has at hand and does not load
      // it from the harness's members.
      Communicator* const communicator = &communicator_;
      if (step.work.program.any()) return run_program_step(seat_, step, communicator_, report);
      run_step(
          seat_, step, [communicator] { communicator->barrier(); }, report);
      return;
    }
    communicator_.select_at(Operation::barrier, meeting_, 0);
    unsigned char* const memory = seat_.memory;
    const std::size_t bytes = extra_bytes + HandCounterPerCpu::footprint(communicator_.shape()) +
                              HandFlatFlags::footprint(communicator_.shape());
    clear(memory, bytes);
    run_reference(subject.info.name, memory, step, report);
    communicator_.barrier();
    clear(memory, bytes);
  }

  void run_reference(const std::string& name, unsigned char* memory, const Step& step, RankReport& report) {
    const int rank = seat_.rank;
    if (name == "hand-one-line") {
      HandOneLine hand(memory, rank);
      run_reference_step(seat_, step, hand, report);
    } else if (name == "hand-two-lines") {
      HandTwoLines hand(memory, rank);
      run_reference_step(seat_, step, hand, report);
    } else if (name == "hand-counter-per-cpu") {
      HandCounterPerCpu hand(memory, rank, communicator_.shape());
      run_reference_step(seat_, step, hand, report);
    } else if (name == "hand-flat-flags") {
      HandFlatFlags hand(memory, rank, communicator_.shape());
      run_reference_step(seat_, step, hand, report);
    } else if (name == "pthread-barrier") {
      run_pthread(reinterpret_cast<pthread_barrier_t*>(memory), step, report);
    } else {
      for (const ExtraReference& extra : extras_)
        if (extra.name == name) return extra.run(seat_, step, memory, communicator_, report);
      throw ArgumentError("algorithm", "'" + name + "'", "a reference that this program holds");
    }
  }

  void run_pthread(pthread_barrier_t* barrier, const Step& step, RankReport& report) {
    if (seat_.rank == 0) {
      pthread_barrierattr_t attributes;
      pthread_barrierattr_init(&attributes);
      if (communicator_.control().shared())
        pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
      pthread_barrier_init(barrier, &attributes, static_cast<unsigned>(seat_.ranks));
      pthread_barrierattr_destroy(&attributes);
    }
    communicator_.barrier();
    run_reference_step(
        seat_, step, [barrier] { pthread_barrier_wait(barrier); }, report);
    communicator_.barrier();
    if (seat_.rank == 0) pthread_barrier_destroy(barrier);
  }

  void clear(unsigned char* memory, std::size_t bytes) {
    if (seat_.rank == 0) std::memset(memory, 0, bytes);
    communicator_.barrier();
  }

  Communicator& communicator_;
  const std::vector<ExtraReference>& extras_;
  Seat seat_;
  AlgorithmSpec meeting_;
  MessageBuffers buffers_;
};

}  // namespace

void serve_rank(Communicator& communicator, StepBoard& board, const std::vector<ExtraReference>& extras) {
  RankWorker worker(communicator, board, extras);
  std::uint32_t seen = 0;
  for (;;) {
    const Step step = board.next(&seen);
    RankReport& report = board.report(communicator.rank());
    report = RankReport();
    report.local_ns = report.read_ns = report.pingpong_ns = report.switch_ns = report.empty_ns = -1;
    if (step.kind == StepKind::stop) {
      board.done();
      return;
    }
    try {
      worker.run(step, report);
    } catch (const std::exception& error) {
      report.failed = 1;
      std::snprintf(report.error, sizeof report.error, "%s", error.what());
      board.done();
      throw;
    }
    board.done();
  }
}

void serve_threads(StepBoard& board, const std::vector<ExtraReference>& extras) {
  const SetConfig config = SetConfig::parse(board.config());
  GroupOptions options;
  options.placement = config.placement;
  options.wait = parse_wait_policy(config.wait);
  ThreadGroup group(config.ranks, options);
  group.run([&](Communicator& communicator) { serve_rank(communicator, board, extras); });
}

void serve_process(StepBoard& board, int group, int rank) {
  const SetConfig config = SetConfig::parse(board.config());
  const std::unique_ptr<ProcessGroup> member =
      ProcessGroup::join(group, rank, parse_wait_policy(config.wait));
  try {
    serve_rank(member->communicator(), board, {});
  } catch (const std::exception& error) {
    member->fail(error.what());
    throw;
  }
}

}  // namespace measure
}  // namespace phicoll
