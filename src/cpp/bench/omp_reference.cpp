// phicoll-omp-reference: the barrier and the sums of one OpenMP library, measured step by step like every
// other subject. The threads stay inside one parallel region and sleep on the step board between steps.
// phicoll-bench starts the program with the board's descriptor, and chooses the library through LD_PRELOAD.
// The library's own settings are left as they are.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // RTLD_DEFAULT, dladdr
#endif
#include <dlfcn.h>
#include <omp.h>
#include <stdlib.h>

#include <cstdio>
#include <exception>
#include <vector>

#include "bench/omp_reduction.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/measure/data_steps.hpp"
#include "phicoll/measure/program_step.hpp"
#include "phicoll/measure/set_config.hpp"
#include "phicoll/measure/timing.hpp"
#include "phicoll/os/cpu_set.hpp"

namespace {

using namespace phicoll;

// Notes the file whose barrier the code below really calls.
void name_runtime(char* note, std::size_t bytes) {
  Dl_info info;
  void* entry = dlsym(RTLD_DEFAULT, "GOMP_barrier");
  if (entry == nullptr || dladdr(entry, &info) == 0) return;
  char* real = realpath(info.dli_fname, nullptr);
  std::snprintf(note, bytes, "%s", real != nullptr ? real : info.dli_fname);
  std::free(real);
}

/// Memory of this process for a program, aligned to a page; the last one's is kept.
unsigned char* shared_memory(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  static std::vector<unsigned char> memory;
#pragma omp single
  memory.assign(bytes + page, 0);  // the others wait at the end
  const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
  return memory.data() + (page - at % page) % page;
}

template <class T>
void add_by(const measure::Seat& seat, const measure::Step& step, measure::MessageBuffers& buffers,
            measure::RankReport& report) {
  bench::OmpReduction<T> reduction(seat.rank, buffers);
  measure::run_foreign_step(
      seat, step, buffers, [](void* sum) { (*static_cast<bench::OmpReduction<T>*>(sum))(); }, &reduction,
      report);
}

// Whole numbers are added without a sign, as they wrap around then.
void run_reduction(const measure::Seat& seat, const measure::Step& step, measure::MessageBuffers& buffers,
                   measure::RankReport& report) {
  constexpr std::size_t places = 4096;  // buffers begin at any line of a page
  buffers.prepare(step.work, step.place % places);
  switch (step.work.type) {
    case Type::int32:
      return add_by<std::uint32_t>(seat, step, buffers, report);
    case Type::int64:
      return add_by<std::uint64_t>(seat, step, buffers, report);
    case Type::float32:
      return add_by<float>(seat, step, buffers, report);
    case Type::float64:
      return add_by<double>(seat, step, buffers, report);
    default:
      throw ArgumentError("type", to_string(step.work.type), "int32, int64, float32, float64");
  }
}

void serve(measure::StepBoard& board, const measure::SetConfig& config, int rank, bool shares_cpu) {
  measure::Seat seat{board, rank, config.ranks, shares_cpu};
  measure::MessageBuffers buffers(rank, config.ranks);
  std::uint32_t seen = 0;
  for (;;) {
    const measure::Step step = board.next(&seen);
    measure::RankReport& report = board.report(rank);
    report = measure::RankReport();
    if (step.kind == measure::StepKind::stop) break;
    if (step.work.program.any()) seat.shared = shared_memory(step.work.program.shared_bytes(config.ranks));
    if (step.work.moves_data())
      run_reduction(seat, step, buffers, report);
    else
      measure::run_reference_step(
          seat, step,
          [] {
#pragma omp barrier
          },
          report);
    if (step.kind == measure::StepKind::verify) name_runtime(report.note, sizeof report.note);
    report.cpu = os::current_cpu();
    board.done();
  }
  board.done();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("phicoll-omp-reference is started by phicoll-bench\n", stderr);
    return 2;
  }
  try {
    measure::StepBoard board = measure::StepBoard::join(std::atoi(argv[1]));
    const measure::SetConfig config = measure::SetConfig::parse(board.config());
    omp_set_dynamic(0);
    bool whole = true;
#pragma omp parallel num_threads(config.ranks)
    {
      const int rank = omp_get_thread_num();
      if (omp_get_num_threads() != config.ranks) {
#pragma omp single
        whole = false;
      } else {
        const int cpu = config.cpus[static_cast<std::size_t>(rank)];
        bool shares = false;
        for (int r = 0; r < config.ranks; ++r)
          shares = shares || (r != rank && config.cpus[static_cast<std::size_t>(r)] == cpu);
        if (cpu >= 0) os::pin_this_thread(cpu);
        serve(board, config, rank, shares);
      }
    }
    if (!whole) {
      std::fprintf(stderr, "phicoll-omp-reference: the library gave fewer than %d threads\n", config.ranks);
      return 1;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "phicoll-omp-reference: %s\n", error.what());
    return 1;
  }
  return 0;
}
