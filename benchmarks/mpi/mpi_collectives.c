/* Times MPI's collectives at somebody else's command: one MPI job that lives as long as the measurement, and
 * sleeps in the kernel, reading a pipe, whenever it is not on turn.
 *
 *   mpi_collectives DIRECTORY CPUS CLOCK
 *
 * DIRECTORY holds, made by the launcher, `board` (an empty file) and for each rank r the pipes `command.r`
 * and `answer.r`. CPUS is a list such as 0,1: rank r is pinned to the (r mod n)-th; `-`: not pinned. CLOCK is
 * `cycles` or `monotonic`. Each rank answers with lines of JSON: one when it is ready, then one for each
 * command. A command is one line, the same to all ranks:
 *
 *   OPERATION BYTES MODE BUFFERS [name=number ...]
 *
 * BYTES are those of the count argument: of a block where there are blocks.
 *
 * MODE
 * - loop: `calls` back-to-back calls between two stamps, elapsed_ns; the same loop with the writes alone,
 *   empty_ns; of ranks that share CPUs both from the first rank's start, unless the operation is a barrier
 * - window: each call from a start announced to all, after a random delay of a rank's own and up to 127 empty
 *   turns: entries_ns and exits_ns, from the announced start
 * - separated: each call between two stamps, a barrier of MPI's between calls: the way of the OSU programs
 *
 * BUFFERS
 * - fresh: the owner writes its send buffer before each call
 * - reused: it is written once, before the first call
 *
 * The numbers: calls, warmup, cap_ms (fewer calls are made where all would take longer), root, verify (0 or
 * 1), seed, jitter_ns (largest delay), slack_ns (from the announcement to the start), offset (bytes that both
 * buffers are moved by), huge (1: ask for huge pages), limit_s (the rank ends itself when a command takes
 * longer).
 *
 * An end of file on the command pipe ends the job. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "board.h"
#include "operation.h"
#include "stamp.h"

typedef struct {
  char operation[32], mode[16], buffers[16];
  uint64_t bytes, calls, warmup, seed, offset;
  double cap_ms, jitter_ns, slack_ns;
  int root, verify, huge;
  unsigned limit_s;
} Command;

typedef struct {
  uint64_t calls, late;
  int verified;    /* -1: not asked */
  double known_ns; /* what a call took before; 0: not known */
  double elapsed_ns, empty_ns;
  int64_t *entries, *exits; /* ticks from the announced start */
} Report;

typedef struct {
  unsigned char* memory;
  uint64_t capacity;
  int huge;
} Arena;

static Seat seat;
static StampClock stamps;
static Arena arenas[2];
static FILE* answers;

/* One rank's number, for everybody to stop on: a message on stderr and the end of the job. */
static void die(const char* what, const char* about) {
  fprintf(stderr, "mpi_collectives: rank %d: %s %s: %s\n", seat.rank, what, about, strerror(errno));
  int started = 0;
  MPI_Initialized(&started);
  if (started) MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t mixed(uint64_t seed) {
  uint64_t z = seed + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static int64_t delay_ticks(const Command* command, uint64_t call, int64_t range) {
  if (range <= 0) return 0;
  const uint64_t of_call = mixed(command->seed ^ mixed(call)), of_rank = mixed(of_call + (uint64_t)seat.rank);
  return (int64_t)(((of_rank >> 32) * (uint64_t)(range + 1)) >> 32);
}

/* Empty turns before a window's call, as many as spread_turns in src/cpp/phicoll/measure/timing.hpp. */
static uint64_t spread_turns(const Command* command, uint64_t call) {
  return mixed(mixed(~command->seed ^ mixed(call)) + (uint64_t)seat.rank) % 128;
}

/* ---- buffers ---- */

static void drop(Arena* arena) {
  if (arena->memory != NULL) munmap(arena->memory, arena->capacity);
  arena->memory = NULL;
  arena->capacity = 0;
}

/* Page-aligned memory of this rank's own, kept from command to command; `offset` bytes after its start. */
static unsigned char* take(Arena* arena, uint64_t bytes, const Command* command) {
  const uint64_t huge_page = 2u << 20, unit = command->huge ? huge_page : 4096;
  const uint64_t needed = (bytes + command->offset + 64 + unit - 1) / unit * unit;
  if (needed > arena->capacity || command->huge != arena->huge) {
    drop(arena);
    void* memory = mmap(NULL, needed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
    if (command->huge) madvise(memory, needed, MADV_HUGEPAGE);
#endif
    arena->memory = (unsigned char*)memory;
    arena->capacity = needed;
    arena->huge = command->huge;
  }
  return arena->memory + command->offset;
}

/* A job that is not on turn keeps no more than this: there are several jobs at the same time. */
static void give_back(void) {
  const uint64_t kept = 64u << 20;
  for (int i = 0; i < 2; ++i)
    if (arenas[i].capacity > kept) drop(&arenas[i]);
}

static int prepare(const Command* command, const Operation* operation, Work* work) {
  const int is_root = seat.rank == command->root;
  const uint64_t all = command->bytes * (uint64_t)seat.ranks;
  memset(work, 0, sizeof *work);
  work->operation = operation;
  work->bytes = command->bytes;
  work->type = operation->reduces ? MPI_FLOAT : MPI_BYTE;
  work->count = (int)(operation->reduces ? command->bytes / sizeof(float) : command->bytes);
  work->root = command->root;
  work->rank = seat.rank;
  work->ranks = seat.ranks;
  if (operation->call == call_barrier) return 1;
  if (!operation->root_sends || is_root) work->send_bytes = operation->send_ranks ? all : command->bytes;
  if (!operation->root_receives || is_root) work->recv_bytes = operation->recv_ranks ? all : command->bytes;
  /* Both exist on all ranks: a pointer that counts for nothing is still one to memory. */
  work->send = take(&arenas[0], work->send_bytes, command);
  work->recv = take(&arenas[1], work->recv_bytes, command);
  if (work->send == NULL || work->recv == NULL) return 0;
  memset(work->recv, 0, work->recv_bytes);
  return 1;
}

/* ---- verification ---- */

/* Nobody may leave a barrier before everybody has entered it. */
static int barrier_is_right(void) {
  const uint64_t episodes = seat.shares_cpu ? 16 : 64; /* a crowded barrier may take many milliseconds */
  Board* board = seat.board;
  int right = 1;
  atomic_store_explicit(&board->seats[seat.rank].entered, 0, memory_order_relaxed);
  meet(&seat);
  for (uint64_t e = 1; e <= episodes; ++e) {
    const int64_t until = monotonic_ns() + (int64_t)(mixed(e * max_ranks + (uint64_t)seat.rank) % 2000);
    while (monotonic_ns() < until) {
    }
    /* Relaxed on purpose: it is the barrier that must make the numbers visible. */
    atomic_store_explicit(&board->seats[seat.rank].entered, e, memory_order_relaxed);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int r = 0; r < seat.ranks; ++r) {
      const uint64_t entered = atomic_load_explicit(&board->seats[r].entered, memory_order_relaxed);
      right &= entered == e || entered == e + 1;
    }
  }
  meet(&seat);
  return right;
}

static int call_is_right(const Work* work, Pattern pattern, double* took_ns) {
  if (work->operation->call == call_barrier) return barrier_is_right();
  write_send(work, pattern);
  if (work->recv_bytes != 0) memset(work->recv, 0xff, work->recv_bytes); /* not a number */
  const int64_t start = stamp_before(&stamps);
  work->operation->call(work);
  *took_ns = stamp_to_ns(&stamps, stamp_after(&stamps) - start);
  return result_is_right(work, pattern);
}

/* ---- the definitions of run time ---- */

static inline void empty_turn(void) {
  __asm__ __volatile__("" : : : "memory");
}

static inline Pattern flat(uint64_t call) {
  const Pattern p = {1, (uint32_t)call};
  return p;
}

typedef struct {
  int64_t start, ticks;
} Turns;

/* `calls` turns between two stamps. Small and always inlined where `fresh` and `called` are constants: a turn
 * without writes and calls is empty. */
static inline __attribute__((always_inline)) Turns turns(const Work* work, uint64_t calls, int fresh,
                                                         int called) {
  void (*const call)(const Work*) = work->operation->call;
  const int64_t start = stamp_before(&stamps);
  for (uint64_t i = 0; i < calls; ++i) {
    if (fresh) write_send(work, flat(i));
    if (called) call(work);
    empty_turn();
  }
  const Turns made = {start, stamp_after(&stamps) - start};
  return made;
}

/* What this rank's turns took; of data that ranks which share CPUs move, from the first one's start, as then
 * they write one after the other, with the calls as without. Returns when all ranks' turns are over: who looks
 * at its result takes time from those that share its CPU. */
static double turns_ns(const Work* work, Turns made) {
  const int64_t first = -(int64_t)agree_on_largest(&seat, -(double)made.start);
  const int from_first = seat.crowded && work->operation->call != call_barrier;
  return stamp_to_ns(&stamps, made.ticks + (from_first ? made.start - first : 0));
}

static void warm_up(const Command* command, const Work* work, int fresh) {
  for (uint64_t i = 0; i < command->warmup; ++i) {
    if (fresh) write_send(work, flat(i));
    work->operation->call(work);
  }
}

static void time_loop(const Command* command, const Work* work, int fresh, Report* report) {
  const uint64_t calls = report->calls;
  meet(&seat);
  report->empty_ns = turns_ns(work, fresh ? turns(work, calls, 1, 0) : turns(work, calls, 0, 0));
  warm_up(command, work, fresh);
  /* All start together: a rank that begins earlier would count its waiting for the others. */
  meet(&seat);
  report->elapsed_ns = turns_ns(work, fresh ? turns(work, calls, 1, 1) : turns(work, calls, 0, 1));
}

static void time_windows(const Command* command, const Work* work, int fresh, Report* report) {
  Board* board = seat.board;
  const int64_t range = stamp_to_ticks(&stamps, command->jitter_ns),
                slack = stamp_to_ticks(&stamps, command->slack_ns);
  const int64_t cap = stamp_to_ticks(&stamps, command->cap_ms * 1e6);
  if (seat.rank == 0)
    for (uint64_t i = 0; i < command->calls; ++i)
      atomic_store_explicit(&board->starts[i], 0, memory_order_relaxed);
  atomic_store_explicit(&board->seats[seat.rank].ready, 0, memory_order_relaxed);
  meet(&seat);
  warm_up(command, work, fresh);
  const int64_t begin = stamp_before(&stamps);
  uint64_t i = 0;
  for (; i < command->calls; ++i) {
    uint32_t turns = 0;
    if (fresh) write_send(work, flat(i));
    atomic_store_explicit(&board->seats[seat.rank].ready, i + 1, memory_order_release);
    if (seat.rank == 0) {
      for (int r = 1; r < seat.ranks; ++r)
        while (atomic_load_explicit(&board->seats[r].ready, memory_order_acquire) < i + 1)
          wait_turn(&seat, &turns);
      const int64_t now = stamp_before(&stamps);
      const int enough = i > 0 && now - begin > cap;
      atomic_store_explicit(&board->starts[i], enough ? 1 : now + slack, memory_order_release);
    }
    int64_t start;
    while ((start = atomic_load_explicit(&board->starts[i], memory_order_acquire)) == 0)
      wait_turn(&seat, &turns);
    if (start == 1) {
      if (fresh && i > 0) write_send(work, flat(i - 1)); /* as at the last call, whose result is looked at */
      break;
    }
    const int64_t mine = start + delay_ticks(command, i, range);
    const uint64_t spread = spread_turns(command, i);
    int64_t now = stamp_before(&stamps);
    if (now > mine) ++report->late;
    while (now < mine) {
      if (seat.shares_cpu) sched_yield();
      now = stamp_before(&stamps);
    }
    for (uint64_t turn = 0; turn < spread; ++turn) empty_turn();
    report->entries[i] = stamp_before(&stamps) - start;
    work->operation->call(work);
    report->exits[i] = stamp_after(&stamps) - start;
  }
  report->calls = i;
  meet(&seat); /* as after a loop */
}

/* Each call alone between two stamps. Where the call isn't a barrier itself, one follows it, untimed. */
static void time_separated(const Command* command, const Work* work, int fresh, Report* report) {
  const int barrier_follows = work->operation->call != call_barrier;
  int64_t ticks = 0;
  meet(&seat);
  for (uint64_t i = 0; i < command->warmup + report->calls; ++i) {
    if (fresh) write_send(work, flat(i - command->warmup));
    /* Held back as well: the barrier before is not over as long as its last load has no value. */
    const int64_t start = stamp_after(&stamps);
    work->operation->call(work);
    const int64_t end = stamp_after(&stamps);
    if (i >= command->warmup) ticks += end - start;
    if (barrier_follows) MPI_Barrier(MPI_COMM_WORLD);
  }
  report->elapsed_ns = stamp_to_ns(&stamps, ticks);
}

/* ---- commands ---- */

static int is(const char* a, const char* b) {
  return strcmp(a, b) == 0;
}

/* NULL, or what is wrong with it. */
static const char* parse(const char* line, Command* command) {
  const Command usual = {
      .calls = 100, .warmup = 3, .cap_ms = 50, .jitter_ns = 1000, .verify = 1, .limit_s = 60};
  int at = 0;
  *command = usual;
  if (sscanf(line, "%31s %llu %15s %15s%n", command->operation, (unsigned long long*)&command->bytes,
             command->mode, command->buffers, &at) != 4)
    return "a command is OPERATION BYTES MODE BUFFERS [name=number ...]";
  command->slack_ns = seat.shares_cpu ? 2000 + 2500.0 * seat.ranks : 1500 + 50.0 * seat.ranks;
  char name[16];
  double number;
  int used;
  while (sscanf(line += at, " %15[a-z_]=%lf%n", name, &number, &used) == 2) {
    at = used;
    if (!(number >= 0 && number < 1e15)) return "a number is out of its range";
    if (is(name, "calls"))
      command->calls = (uint64_t)number;
    else if (is(name, "warmup"))
      command->warmup = (uint64_t)number;
    else if (is(name, "cap_ms"))
      command->cap_ms = number;
    else if (is(name, "root"))
      command->root = (int)number;
    else if (is(name, "verify"))
      command->verify = number != 0;
    else if (is(name, "seed"))
      command->seed = (uint64_t)number;
    else if (is(name, "jitter_ns"))
      command->jitter_ns = number;
    else if (is(name, "slack_ns"))
      command->slack_ns = number;
    else if (is(name, "offset"))
      command->offset = (uint64_t)number / 4 * 4;
    else if (is(name, "huge"))
      command->huge = number != 0;
    else if (is(name, "limit_s"))
      command->limit_s = (unsigned)number;
    else
      return "a name is not one of those that the program knows";
  }
  if (line[strspn(line, " \n")] != '\0') return "what follows BUFFERS must be name=number";
  const Operation* operation = find_operation(command->operation);
  if (operation == NULL) return "the operation is not known";
  if (operation->reduces && command->bytes % sizeof(float) != 0)
    return "a sum of floats needs a multiple of 4 bytes";
  if (command->bytes > 0x7fffffff) return "the count does not fit into an int";
  if (!is(command->mode, "loop") && !is(command->mode, "window") && !is(command->mode, "separated"))
    return "the mode must be loop, window or separated";
  if (!is(command->buffers, "fresh") && !is(command->buffers, "reused"))
    return "buffers must be fresh or reused";
  if (command->calls < 1) return "calls must be at least 1";
  if (is(command->mode, "window") && command->calls > max_windows)
    return "more calls than windows on the board";
  if (command->root >= seat.ranks) return "the root is not a rank";
  return NULL;
}

static double timed_calls(const Command* command, const Work* work, int fresh) {
  const int64_t start = stamp_before(&stamps);
  warm_up(command, work, fresh);
  return agree_on_largest(&seat, stamp_to_ns(&stamps, stamp_after(&stamps) - start));
}

/* How many calls fit under the cap, from calls made before; the same on all ranks. Warm-up calls are cut too;
 * where one call takes longer than the cap there are none, for a call of ten seconds has been seen. */
static uint64_t fitting_calls(Command* command, const Work* work, int fresh, double known_ns) {
  const double cap_ns = command->cap_ms * 1e6;
  const uint64_t warmup = command->warmup;
  double first_ns = agree_on_largest(&seat, known_ns);
  if (first_ns <= 20 * cap_ns) {
    command->warmup = 1;
    first_ns = timed_calls(command, work, fresh);
  }
  command->warmup = (double)warmup * first_ns <= cap_ns ? warmup : (uint64_t)(cap_ns / first_ns);
  if (first_ns > cap_ns) return 1;
  Command several = *command;
  if (several.warmup < 1) several.warmup = 1;
  const double calls = cap_ns * (double)several.warmup / timed_calls(&several, work, fresh);
  if (calls >= (double)command->calls) return command->calls;
  return calls < 1 ? 1 : (uint64_t)calls;
}

/* Whether the last call of those just timed left the right thing: the pattern of that call, or the one
 * written once. */
static int last_is_right(const Work* work, int fresh, Pattern once, uint64_t calls) {
  return result_is_right(work, fresh ? flat(calls - 1) : once);
}

static void measure(Command* command, const Work* work, Report* report) {
  const int fresh = is(command->buffers, "fresh");
  const Pattern once = {0, (uint32_t)mixed(command->seed)};
  report->verified = -1;
  if (command->verify)
    report->verified = call_is_right(work, once, &report->known_ns);
  else
    write_send(work, once);
  meet(&seat);
  report->calls = fitting_calls(command, work, fresh, report->known_ns);
  if (is(command->mode, "loop"))
    time_loop(command, work, fresh, report);
  else if (is(command->mode, "window"))
    time_windows(command, work, fresh, report);
  else
    time_separated(command, work, fresh, report);
  if (command->verify) report->verified &= last_is_right(work, fresh, once, report->calls);
  /* Nobody leaves for the kernel while another rank's last call may need it. */
  MPI_Barrier(MPI_COMM_WORLD);
  meet(&seat);
}

static void print_offsets(const char* name, const int64_t* ticks, uint64_t count) {
  fprintf(answers, ",\"%s\":[", name);
  for (uint64_t i = 0; i < count; ++i) fprintf(answers, i ? ",%.1f" : "%.1f", stamp_to_ns(&stamps, ticks[i]));
  fputc(']', answers);
}

static void answer_error(const char* error) {
  fprintf(answers, "{\"rank\":%d,\"ok\":false,\"error\":\"%s\"}\n", seat.rank, error);
  fflush(answers);
}

static void obey(const char* line) {
  static int64_t entries[max_windows], exits[max_windows];
  Command command;
  Work work;
  Report report = {.entries = entries, .exits = exits};
  const char* error = parse(line, &command);
  if (error != NULL) {
    answer_error(error);
    return;
  }
  alarm(command.limit_s);
  const int prepared = prepare(&command, find_operation(command.operation), &work);
  if (agree_on_largest(&seat, prepared ? 0 : 1) > 0) {
    alarm(0);
    answer_error("no memory for the buffers");
    return;
  }
  const uint64_t asked = command.calls;
  measure(&command, &work, &report);
  alarm(0);
  fprintf(answers, "{\"rank\":%d,\"ok\":true,\"cpu\":%d,\"calls\":%llu,\"capped\":%s,\"verified\":%s",
          seat.rank, sched_getcpu(), (unsigned long long)report.calls,
          report.calls < asked ? "true" : "false",
          report.verified < 0 ? "null"
          : report.verified   ? "true"
                              : "false");
  if (is(command.mode, "window")) {
    fprintf(answers, ",\"late\":%llu,\"slack_ns\":%.0f", (unsigned long long)report.late, command.slack_ns);
    print_offsets("entries_ns", entries, report.calls);
    print_offsets("exits_ns", exits, report.calls);
  } else {
    fprintf(answers, ",\"elapsed_ns\":%.1f,\"empty_ns\":%.1f", report.elapsed_ns, report.empty_ns);
  }
  fputs("}\n", answers);
  fflush(answers);
  give_back();
}

/* ---- start and end ---- */

/* The first calls set up what later ones use; no point should pay for that. */
static void first_calls(void) {
  int sent[max_ranks] = {0}, received[max_ranks];
  for (int i = 0; i < 3; ++i) {
    MPI_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* The launcher may have been killed: then nobody else takes its directory away. */
static void clean_up(const char* directory) {
  char path[4096];
  snprintf(path, sizeof path, "%s/board", directory);
  unlink(path);
  snprintf(path, sizeof path, "%s/output", directory);
  unlink(path);
  for (int r = 0; r < seat.ranks; ++r) {
    snprintf(path, sizeof path, "%s/command.%d", directory, r);
    unlink(path);
    snprintf(path, sizeof path, "%s/answer.%d", directory, r);
    unlink(path);
  }
  rmdir(directory);
}

/* The rank as the launchers tell it, to be pinned before MPI_Init takes memory and starts threads; -1: not
 * told. */
static int rank_in_environment(void) {
  const char* names[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (getenv(names[i]) != NULL) return atoi(getenv(names[i]));
  return -1;
}

static int cpus[1024], cpu_count; /* none: not pinned */

static void read_cpus(const char* list) {
  if (is(list, "-")) return;
  for (const char* at = list; *at != '\0' && cpu_count < 1024;) {
    char* end;
    cpus[cpu_count++] = (int)strtol(at, &end, 10);
    if (end == at) die("read the CPUs", list);
    at = *end == ',' ? end + 1 : end;
  }
}

static void pin(int rank) {
  if (rank < 0 || cpu_count == 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpus[rank % cpu_count], &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) die("pin to", "its CPU");
}

static int shares_its_cpu(void) {
  if (cpu_count == 0) return seat.ranks > (int)sysconf(_SC_NPROCESSORS_ONLN);
  for (int r = 0; r < seat.ranks; ++r)
    if (r != seat.rank && cpus[r % cpu_count] == cpus[seat.rank % cpu_count]) return 1;
  return 0;
}

static FILE* open_pipe(const char* directory, const char* name, const char* how) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.%d", directory, name, seat.rank);
  FILE* file = fopen(path, how);
  if (file == NULL) die("open", path);
  return file;
}

static void say_ready(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  for (char* c = version; *c != '\0'; ++c)
    if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ') *c = ' ';
  fprintf(answers,
          "{\"rank\":%d,\"ok\":true,\"ranks\":%d,\"pid\":%ld,\"cpu\":%d,\"shares_cpu\":%s,\"clock\":\"%s\","
          "\"ns_per_tick\":%.9g,\"stamp_ns\":%.2f,\"library\":\"%s\"}\n",
          seat.rank, seat.ranks, (long)getpid(), sched_getcpu(), seat.shares_cpu ? "true" : "false",
          stamps.cycles ? "cycles" : "monotonic", stamps.ns_per_tick, stamps.overhead_ns, version);
  fflush(answers);
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: mpi_collectives DIRECTORY CPUS CLOCK\n");
    return 2;
  }
  alarm(60); /* nobody may be there to end a start that hangs */
  read_cpus(argv[2]);
  pin(rank_in_environment());
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &seat.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &seat.ranks);
  if (seat.ranks > max_ranks) die("more ranks than the board has seats", argv[1]);
  pin(seat.rank); /* again: the library may have had its own mind */
  seat.shares_cpu = shares_its_cpu();
  stamps = stamp_clock(is(argv[3], "cycles"));

  char path[4096];
  snprintf(path, sizeof path, "%s/board", argv[1]);
  seat.board = open_board(path);
  if (seat.board == NULL) die("map", path);
  FILE* commands = open_pipe(argv[1], "command", "r");
  answers = open_pipe(argv[1], "answer", "w");
  seat.crowded = agree_on_largest(&seat, seat.shares_cpu) > 0;
  first_calls();
  alarm(0);
  say_ready();

  char line[512];
  while (fgets(line, sizeof line, commands) != NULL) obey(line);
  alarm(20);
  if (seat.rank == 0) clean_up(argv[1]);
  MPI_Finalize();
  return 0;
}
