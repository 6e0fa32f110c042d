/* Time stamps: the cycle counter where the launcher says that it is one clock for all CPUs, else
 * CLOCK_MONOTONIC. */
#ifndef PHICOLL_BENCHMARKS_STAMP_H
#define PHICOLL_BENCHMARKS_STAMP_H

#include <stdint.h>
#include <time.h>

typedef struct {
  int cycles; /* else nanoseconds of CLOCK_MONOTONIC */
  double ns_per_tick;
  double overhead_ns; /* of one stamp after a call: a window's time holds about one of them */
} StampClock;

static inline int64_t monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t cycle_counter(void) {
#if defined(__x86_64__)
  uint32_t low, high;
  __asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high) : : "memory");
  return (int64_t)((uint64_t)high << 32 | low);
#elif defined(__aarch64__)
  uint64_t count;
  __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(count) : : "memory");
  return (int64_t)count;
#else
  return monotonic_ns();
#endif
}

static inline int64_t stamp_before(const StampClock* clock) {
  return clock->cycles ? cycle_counter() : monotonic_ns();
}

/* The counter may be read before an earlier load has its value; a fence holds it back, as phicoll's own
 * stamps do. */
static inline int64_t stamp_after(const StampClock* clock) {
#if defined(__x86_64__)
  if (clock->cycles) __asm__ __volatile__("lfence" : : : "memory");
#elif defined(__aarch64__)
  if (clock->cycles) __asm__ __volatile__("isb" : : : "memory");
#endif
  return stamp_before(clock);
}

static inline double stamp_to_ns(const StampClock* clock, int64_t ticks) {
  return (double)ticks * clock->ns_per_tick;
}

static inline int64_t stamp_to_ticks(const StampClock* clock, double ns) {
  return (int64_t)(ns / clock->ns_per_tick + 0.5);
}

/* Both clocks at the same time: of some tries the one that nothing came between. */
static inline void read_both(int64_t* ns, int64_t* ticks) {
  int64_t shortest = INT64_MAX;
  for (int i = 0; i < 50; ++i) {
    const int64_t before = cycle_counter(), now = monotonic_ns(), after = cycle_counter();
    if (after - before >= shortest) continue;
    shortest = after - before;
    *ns = now;
    *ticks = before + shortest / 2;
  }
}

/* 40 ms beside CLOCK_MONOTONIC: an error of about 1 ns in 1 ms. */
static inline StampClock stamp_clock(int cycles) {
  StampClock clock = {cycles, 1.0, 0.0};
  if (cycles) {
    int64_t first_ns, first_ticks, last_ns, last_ticks;
    read_both(&first_ns, &first_ticks);
    while (monotonic_ns() - first_ns < 40000000) {
    }
    read_both(&last_ns, &last_ticks);
    clock.ns_per_tick = (double)(last_ns - first_ns) / (double)(last_ticks - first_ticks);
  }
  const int reads = 1000;
  for (int series = 0; series < 10; ++series) {
    const int64_t start = stamp_before(&clock);
    for (int i = 0; i < reads; ++i) (void)stamp_after(&clock);
    const double each = stamp_to_ns(&clock, stamp_after(&clock) - start) / reads;
    if (series == 0 || each < clock.overhead_ns) clock.overhead_ns = each;
  }
  return clock;
}

#endif
