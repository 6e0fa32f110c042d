// Loading, MPI_Init and MPI_Finalize; and the program's ranks by node.

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "phicoll/preload/last_word.hpp"
#include "shim.h"

namespace phicoll_mpi {

unsigned calls_begun = 0;

World world = {nullptr, false, Why::inactive, false, 0, 0, MPI_GROUP_NULL, nullptr, nullptr, 0, false, false};

const char* const row_names[rows] = {
#define PHICOLL_MPI_ROW(name, ...) #name,
#include "rows.inc"
#undef PHICOLL_MPI_ROW
};

void say(const char* format, ...) {
  char line[1024];
  va_list words;
  va_start(words, format);
  vsnprintf(line, sizeof line, format, words);
  va_end(words);
  phicoll_preload_print("phicoll: mpi: %s\n", line);
}

namespace {

MPI_Comm progress_comm = MPI_COMM_NULL;

int64_t now_ns(clockid_t clock) {
  timespec at;
  clock_gettime(clock, &at);
  return static_cast<int64_t>(at.tv_sec) * 1000000000 + at.tv_nsec;
}

// A rank that waits in phicoll may be the one whose MPI has to go on before the awaited rank gets there: it
// may have sent a large message. It probes a communicator of its own, on which no message is ever sent:
// MPICH did not go on by a probe on MPI_COMM_SELF. Where ranks share CPUs a probe may take as long as a
// short call (Open MPI gives the CPU away), so short calls probe seldom. A probe that takes much CPU time
// has most likely moved pieces of a message, and the next one follows at once.
void let_mpi_go_on() {
  constexpr int64_t long_call_ns = 50000;
  constexpr int64_t in_short_calls_ns = 200000;
  constexpr int64_t in_long_calls_ns = 20000;
  constexpr int64_t moving_ns = 3000;
  static unsigned call = 0;  // these of whichever thread
  static int64_t since = 0;
  static int64_t last = 0;
  static bool moving = false;
  const int64_t now = now_ns(CLOCK_MONOTONIC);
  const unsigned current = __atomic_load_n(&calls_begun, __ATOMIC_RELAXED);
  if (__atomic_load_n(&call, __ATOMIC_RELAXED) != current) {
    __atomic_store_n(&call, current, __ATOMIC_RELAXED);
    __atomic_store_n(&since, now, __ATOMIC_RELAXED);
  }
  const bool long_call = now - __atomic_load_n(&since, __ATOMIC_RELAXED) > long_call_ns;
  const int64_t gap = !long_call                                   ? in_short_calls_ns
                      : __atomic_load_n(&moving, __ATOMIC_RELAXED) ? 0
                                                                   : in_long_calls_ns;
  if (now - __atomic_load_n(&last, __ATOMIC_RELAXED) < gap) return;
  const int64_t before = now_ns(CLOCK_THREAD_CPUTIME_ID);
  int flag = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, progress_comm, &flag, MPI_STATUS_IGNORE);
  __atomic_store_n(&last, now, __ATOMIC_RELAXED);
  __atomic_store_n(&moving, now_ns(CLOCK_THREAD_CPUTIME_ID) - before > moving_ns, __ATOMIC_RELAXED);
}

uint64_t mixed(uint64_t hash, const char* text, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x100000001b3u;
  return hash;
}

uint64_t mixed_file(uint64_t hash, const char* path) {
  char text[256];
  FILE* const file = fopen(path, "r");
  if (file == nullptr) return hash;
  const size_t bytes = fread(text, 1, sizeof text, file);
  fclose(file);
  return mixed(hash, text, bytes);
}

uint64_t mixed_link(uint64_t hash, const char* path) {
  char text[256];
  const ssize_t bytes = readlink(path, text, sizeof text);
  return bytes > 0 ? mixed(hash, text, static_cast<size_t>(bytes)) : hash;
}

/// The same for processes that can meet at an abstract socket and send each other a descriptor: of one boot
/// of one kernel, in one network namespace. PHICOLL_NODE stands for it where it is set and not empty.
uint64_t node_identity() {
  uint64_t hash = 0xcbf29ce484222325u;
  const char* const name = getenv("PHICOLL_NODE");
  if (name != nullptr && *name != '\0') return mixed(hash, name, strlen(name));
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  hash = mixed(hash, host, strlen(host));
  hash = mixed_file(hash, "/proc/sys/kernel/random/boot_id");
  hash = mixed_link(hash, "/proc/self/ns/net");
  return mixed_link(hash, "/proc/self/ns/pid");
}

/// What each rank tells all others at the start.
struct Announced {
  uint64_t node;
  int32_t threads;  ///< MPI_THREAD_MULTIPLE
  int32_t ready;
  int32_t first_calls;  ///< PHICOLL_MPI_FIRST_CALLS, where rank 0's counts; -1: not set
  uint64_t profile;     ///< names the group in the profile, where rank 0's counts; 0: none is made
};

// Making a part of a group takes some 50 microseconds, a group of its own some milliseconds.
constexpr int64_t attach_ms = 30000;
constexpr unsigned usual_first_calls = 3;
constexpr unsigned usual_first_calls_with_threads = 63;

int32_t asked_first_calls() {
  const char* const text = getenv("PHICOLL_MPI_FIRST_CALLS");
  if (text == nullptr || *text == '\0') return -1;
  char* end = nullptr;
  const long number = strtol(text, &end, 10);
  if (*end == '\0' && number >= 0 && number <= INT32_MAX) return static_cast<int32_t>(number);
  if (world.rank == 0)
    say("PHICOLL_MPI_FIRST_CALLS: got '%s'; allowed: a whole number from 0; the default is taken", text);
  return -1;
}

/// Fills world.node_of and world.place, and returns how many ranks this node has.
int number_nodes(const Announced* all) {
  int nodes = 0;
  for (int r = 0; r < world.size; ++r) {
    int first = 0;
    while (all[first].node != all[r].node) ++first;
    world.node_of[r] = first == r ? nodes++ : world.node_of[first];
    world.place[r] = 0;
    for (int s = first; s < r; ++s) world.place[r] += all[s].node == all[r].node ? 1 : 0;
  }
  int here = 0;
  for (int r = 0; r < world.size; ++r) here += world.node_of[r] == world.node_of[world.rank] ? 1 : 0;
  return here;
}

/// Attaches the ranks of each node. All ranks decide alike here, since all know what each announced.
void attach(bool ready) {
  const size_t size = static_cast<size_t>(world.size);
  int provided = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&provided);
  const Announced mine = {node_identity(), provided == MPI_THREAD_MULTIPLE ? 1 : 0, ready ? 1 : 0,
                          asked_first_calls(), phicoll_preload_profiles() != 0 ? random_number() | 1 : 0};
  Announced* const all = static_cast<Announced*>(malloc(size * sizeof(Announced)));
  world.node_of = static_cast<int*>(malloc(2 * size * sizeof(int)));
  world.place = world.node_of + size;
  PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
  const int here = number_nodes(all);
  bool threads = false;
  bool all_ready = true;
  for (int r = 0; r < world.size; ++r) {
    threads = threads || all[r].threads != 0;
    all_ready = all_ready && all[r].ready != 0;
  }
  world.first_calls = all[0].first_calls >= 0 ? static_cast<unsigned>(all[0].first_calls)
                      : threads               ? usual_first_calls_with_threads
                                              : usual_first_calls;
  world.counts_down = threads && all_ready && all[0].first_calls < 0;
  world.one_node = here == world.size;
  start_watching(all[0].profile);
  free(all);
  world.why = Why::inactive;
  world.threads = threads;  // calls that pass through may be watched
  if (!all_ready) return;
  PMPI_Comm_dup(MPI_COMM_WORLD, &progress_comm);
  if (threads) world.why = Why::none;
  if (threads) return;
  uint64_t token = random_number();
  PMPI_Bcast(&token, sizeof token, MPI_BYTE, 0, MPI_COMM_WORLD);
  PhicollGroup* group = nullptr;
  int attached = 1;
  if (here > 1 &&
      attach_as(token, world.node_of[world.rank], here, world.place[world.rank], &group) != PHICOLL_DONE) {
    attached = 0;
    if (world.place[world.rank] == 0) say("all calls stay with the MPI: %s", phicoll_preload_error());
  }
  int everywhere = 0;
  PMPI_Allreduce(&attached, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (everywhere == 0 && group != nullptr) {
    phicoll_preload_leave(group);
    group = nullptr;
  }
  world.group = group;
  if (everywhere != 0) world.why = Why::none;
}

/// This process's children are not ranks.
void forget_preload(const char* own) {
  const char* const list = getenv("LD_PRELOAD");
  if (list == nullptr) return;
  char* const left = static_cast<char*>(calloc(1, strlen(list) + 1));
  char* const words = strdup(list);
  char* rest = nullptr;
  for (char* word = strtok_r(words, ": ", &rest); word != nullptr; word = strtok_r(nullptr, ": ", &rest)) {
    if (strcmp(word, own) == 0) continue;
    if (*left != '\0') strcat(left, ":");
    strcat(left, word);
  }
  if (*left != '\0')
    setenv("LD_PRELOAD", left, 1);
  else
    unsetenv("LD_PRELOAD");
  free(words);
  free(left);
}

const char* file_name(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

const char* own_path() {
  Dl_info own;
  return dladdr(reinterpret_cast<void*>(&own_path), &own) != 0 && own.dli_fname != nullptr ? own.dli_fname
                                                                                           : "";
}

/// The name of the MPI library that an object was linked with, or null.
const char* mpi_of(const link_map* map) {
  const char* strings = nullptr;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL && strings != nullptr; ++entry)
    if (entry->d_tag == DT_NEEDED && strncmp(strings + entry->d_un.d_val, "libmpi", 6) == 0)
      return strings + entry->d_un.d_val;
  return nullptr;
}

const link_map* own_object() {
  void* const self = dlopen(own_path(), RTLD_LAZY | RTLD_NOLOAD);
  link_map* map = nullptr;
  return self != nullptr && dlinfo(self, RTLD_DI_LINKMAP, &map) == 0 ? map : nullptr;
}

const link_map* own = nullptr;  // of this library; null before it is loaded, and where it is left alone
pid_t loaded_by = 0;

/// Whether the program, or a library of its own, is linked with an MPI: so a launcher or a shell is none.
bool program_uses_mpi() {
  const link_map* object = own;
  while (object->l_prev != nullptr) object = object->l_prev;
  for (; object != nullptr; object = object->l_next)
    if (object != own && object->l_ld != nullptr && strncmp(file_name(object->l_name), "libmpi", 6) != 0 &&
        mpi_of(object) != nullptr)
      return true;
  return false;
}

/// Whether this process would be rank 0, by the variables of launchers.
bool is_first_process() {
  const char* const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"};
  for (const char* const name : names) {
    const char* const rank = getenv(name);
    if (rank != nullptr) return strcmp(rank, "0") == 0;
  }
  return true;
}

bool has_joined = false;

/// What is said at the end if the program did not get to MPI_Finalize.
void say_last() {
  if (getpid() != loaded_by) return;  // a child is no rank
  if (has_joined || own == nullptr || !is_first_process() || !program_uses_mpi()) return;
  int begun = 0;
  PMPI_Initialized(&begun);
  say("nothing ran in phicoll: the program %s",
      begun != 0 ? "began with the MPI in a way that this library does not see" : "did not call MPI_Init");
}

using Last = phicoll_preload::LastWord<say_last>;

/// How to get a library for the program's MPI, whose library has this path.
void tell_cure(const char* library, char* words, size_t bytes) {
  char folder[512];
  snprintf(folder, sizeof folder, "%s", library);
  for (int up = 0; up < 2; ++up)
    if (char* const slash = strrchr(folder, '/')) *slash = '\0';
  char mpicc[600];
  snprintf(mpicc, sizeof mpicc, "%s/bin/mpicc", folder);
  if (access(mpicc, X_OK) != 0)
    snprintf(mpicc, sizeof mpicc, "/usr/bin/mpicc.%s",
             strstr(library, "mpich") != nullptr ? "mpich" : "openmpi");
  if (access(mpicc, X_OK) != 0) snprintf(mpicc, sizeof mpicc, "MPICC");
  snprintf(words, bytes, "phicoll mpi --mpicc %s%s", mpicc,
           strcmp(mpicc, "MPICC") == 0 ? ", the compiler of the program's MPI, builds one for it"
                                       : " builds one for it");
}

/// Of the phicoll libraries that a program was given, the first that was loaded: its functions are the ones
/// called.
bool is_first() {
  return dlsym(RTLD_DEFAULT, "phicoll_mpi_preload") ==
         dlsym(dlopen(own_path(), RTLD_LAZY | RTLD_NOLOAD), "phicoll_mpi_preload");
}

/// Called when the library is loaded, by glibc with main's arguments.
__attribute__((constructor)) void loaded(int, char** arguments, char**) {
  if (!is_first()) {
    say("preloaded twice: %s is left alone", own_path());
    return;
  }
  Last::begin();
  loaded_by = getpid();
  own = own_object();
  Dl_info found;
  const char* const wanted = own != nullptr ? mpi_of(own) : nullptr;
  if (wanted == nullptr || dladdr(reinterpret_cast<void*>(&PMPI_Init), &found) == 0) return;
  if (strcmp(file_name(found.dli_fname), wanted) == 0) return;
  char cure[700];
  tell_cure(found.dli_fname, cure, sizeof cure);
  say("the program uses %s, but this library was built for %s: the program runs without it; %s",
      found.dli_fname, wanted, cure);
  forget_preload(own_path());
  execv("/proc/self/exe", arguments);
  say("could not start the program again: %s", strerror(errno));
  _exit(127);
}

__attribute__((destructor)) void unloaded() {
  Last::say();
}

void join() {
  if (world.joined || !is_first()) return;
  int initialized = 0;
  PMPI_Initialized(&initialized);
  if (initialized == 0) return;
  PMPI_Comm_size(MPI_COMM_WORLD, &world.size);
  PMPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  PMPI_Comm_group(MPI_COMM_WORLD, &world.ranks);
  forget_preload(own_path());
  const bool environment_fits = phicoll_preload_check_environment() == PHICOLL_DONE;
  if (!environment_fits && world.rank == 0) say("all calls stay with the MPI: %s", phicoll_preload_error());
  attach(environment_fits && !asked_only());
  start_types();
  start_communicators();
  world.joined = true;
  has_joined = true;
}

void leave() {
  if (!world.joined) return;
  end_communicators();
  end_types();
  world.joined = false;
  latest = nullptr;
  if (world.group != nullptr) phicoll_preload_leave(world.group);
  world.group = nullptr;
  end_watching();
  if (progress_comm != MPI_COMM_NULL) PMPI_Comm_free(&progress_comm);
  PMPI_Group_free(&world.ranks);
  free(world.node_of);
}

pthread_mutex_t tables = PTHREAD_MUTEX_INITIALIZER;

}  // namespace

Tables::Tables() {
  if (world.threads) pthread_mutex_lock(&tables);
}

Tables::~Tables() {
  if (world.threads) pthread_mutex_unlock(&tables);
}

uint64_t random_number() {
  uint64_t number = static_cast<uint64_t>(getpid());
  if (FILE* const file = fopen("/dev/urandom", "r")) {
    if (fread(&number, sizeof number, 1, file) != 1) number = static_cast<uint64_t>(getpid());
    fclose(file);
  }
  return number;
}

PhicollResult attach_as(uint64_t token, int part, int size, int rank, PhicollGroup** group) {
  char name[64];
  snprintf(name, sizeof name, "phicoll-mpi-%016llx-%d", static_cast<unsigned long long>(token), part);
  return phicoll_preload_attach(name, size, rank, let_mpi_go_on, attach_ms, 0, group);
}

}  // namespace phicoll_mpi

PHICOLL_LAST_WORD(phicoll_mpi::Last)

extern "C" {

/// Tells one copy of this library from another.
__attribute__((visibility("default"))) char phicoll_mpi_preload = 0;

int MPI_Init(int* argc, char*** argv) {
  const int result = PMPI_Init(argc, argv);
  if (result == MPI_SUCCESS) phicoll_mpi::join();
  return result;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int result = PMPI_Init_thread(argc, argv, required, provided);
  if (result == MPI_SUCCESS) phicoll_mpi::join();
  return result;
}

int MPI_Finalize(void) {
  phicoll_mpi::leave();
  return PMPI_Finalize();
}
}
