// Beginning and end, and questions about PEs and addresses.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/environment.hpp"
#include "phicoll/os/fallbacks.hpp"
#include "phicoll/shmem/settings.hpp"
#include "phicoll/shmem/world.hpp"

// What programs see of the world: inlined functions read these.
phicoll_shmem_team phicoll_shmem_team_world = {0, 0, nullptr};
phicoll_shmem_team phicoll_shmem_team_shared = {0, 0, nullptr};
phicoll_shmem_ctx phicoll_shmem_ctx_default = {nullptr, nullptr, 0};

namespace phicoll {
namespace shmem {

World* the_world = nullptr;

namespace {

World* closed_world = nullptr;  // between the last shmem_finalize and another shmem_init
int to_finalize = 0;            // calls of shmem_init without a shmem_finalize yet
bool throwing = false;
int thread_level = SHMEM_THREAD_SINGLE;
constexpr const char* called_global_exit = "called shmem_global_exit";

void finalize() {
  if (the_world == nullptr) return;
  // A barrier made of an allreduce: a PE that is still in another call's barrier is found, and does not wait
  // for ever.
  std::uint8_t word = 0;
  the_world->comm().allreduce(nullptr, &word, 1, find_operator(Type::uint8, Op::bor));
  if (--to_finalize > 0) return;
  phicoll_shmem_ctx_default.delta = nullptr;
  the_world->close();
  closed_world = the_world;
  the_world = nullptr;
}

#if defined(__GLIBC__)
// The program ends without shmem_finalize: with it if all is well, as 1.2 wants for start_pes.
void at_exit(int status, void*) {
  if (the_world == nullptr || !the_world->comm().in_own_process()) return;
  if (status != 0) {
    the_world->comm().fail("ended with exit status " + std::to_string(status));
    return;
  }
  to_finalize = 1;
  try {
    guarded("finalize", finalize);
  } catch (const std::exception&) {
    // Only where errors are thrown. Nothing is left to catch this one, and the group is broken for all.
  }
}
#endif

// musl has no on_exit, and atexit tells no status. A PE that failed would then wait here for others that wait
// for it, so one that ends without shmem_finalize is taken for one that failed.
int register_at_exit() {
#if defined(__GLIBC__)
  if (!os::fallbacks_forced()) return on_exit(at_exit, nullptr);
#endif
  return std::atexit([] {
    if (the_world != nullptr && the_world->comm().in_own_process())
      the_world->comm().fail("ended without shmem_finalize, which this system's C library does not allow");
  });
}

}  // namespace

void end_without_world() {
  end_with(closed_world != nullptr ? "OpenSHMEM was used after shmem_finalize"
                                   : "OpenSHMEM was used before shmem_init");
}

void throw_errors() {
  throwing = true;
}

bool errors_are_thrown() {
  return throwing;
}

void end_after_global_exit(const std::string& what) {
  if (what.find(called_global_exit) == std::string::npos) return;
  std::fflush(nullptr);
  _exit(1);
}

void refuse(const std::string& argument, const std::string& got, const std::string& allowed) {
  const ArgumentError error(argument, got, allowed);
  if (throwing) throw error;
  end_with(error.what());
}

void end_with(const std::string& what) {
  end_after_global_exit(what);
  if (throwing) throw Error(what);
  const char* const rank = os::environment("PHICOLL_RANK");
  std::fflush(stdout);
  std::fprintf(stderr, "phicoll: PE %s: %s\n", rank != nullptr ? rank : "0", with_pes(what).c_str());
  std::fflush(nullptr);
  if (the_world != nullptr && the_world->comm().in_own_process()) the_world->comm().fail(what);
  _exit(1);
}

void end_with_exception(const char* function) {
  try {
    throw;
  } catch (const std::exception& error) {
    end_after_global_exit(error.what());
    if (errors_are_thrown()) throw;
    end_with(std::string("shmem_") + function + ": " + error.what());
  }
}

void init(const Options& options) {
  if (the_world != nullptr) return;
  const bool again = closed_world != nullptr;
  if (again)
    closed_world->open_again(options);
  else
    closed_world = new World(options);
  std::swap(the_world, closed_world);
  to_finalize = 1;
  Team& team = the_world->team();
  phicoll_shmem_team_world = team.handle;
  phicoll_shmem_team_shared = team.handle;
  phicoll_shmem_ctx_default.team = SHMEM_TEAM_WORLD;
  if (!the_world->checks() && the_world->data_is_shared())
    phicoll_shmem_ctx_default.delta = the_world->deltas().data();
  if (the_world->my_pe() == 0 && !again) print_what_is_asked(the_world->heap_bytes(), the_world->n_pes());
  static const int registered = register_at_exit();
  static_cast<void>(registered);
}

int provide_threads(int requested) {
  // Threads share nothing of ours but the collectives' communicators, one per team.
  if (requested > thread_level && requested <= SHMEM_THREAD_MULTIPLE) thread_level = requested;
  return thread_level;
}

namespace {

/// shmem_init and the like, each of which needs a shmem_finalize.
void begin() {
  if (the_world != nullptr)
    ++to_finalize;
  else
    init(Options());
}

World& begun_world(const char* function) {
  if (the_world == nullptr)
    throw Error(std::string("phicoll::shmem::") + function +
                ": allowed between shmem_init and shmem_finalize");
  return *the_world;
}

}  // namespace

Communicator& communicator() {
  return begun_world("communicator").comm();
}

std::shared_ptr<const void> mapped_memory() {
  return begun_world("mapped_memory").mapped_memory();
}

}  // namespace shmem
}  // namespace phicoll

using namespace phicoll::shmem;

PHICOLL_SHMEM_EXPORT(int, init_thread, (int requested, int* provided)) {
  guarded("init_thread", begin);
  const int level = provide_threads(requested);
  if (provided != nullptr) *provided = level;
  return requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE;
}
PHICOLL_SHMEM_EXPORT(void, init, ()) {
  guarded("init", begin);
}
PHICOLL_SHMEM_EXPORT(void, query_thread, (int* provided)) {
  world();
  *provided = thread_level;
}
PHICOLL_SHMEM_EXPORT(void, query_initialized, (int* initialized)) {
  *initialized = the_world != nullptr;
}
PHICOLL_SHMEM_EXPORT(void, finalize, ()) {
  guarded("finalize", finalize);
}

// Other PEs end with the group: those that wait by themselves, those that compute by the launcher.
PHICOLL_SHMEM_EXPORT(void, global_exit, (int status)) {
  World& all = world();
  std::fflush(nullptr);
  all.comm().fail(called_global_exit + std::string("(") + std::to_string(status) + ")");
  _exit(status);
}

PHICOLL_SHMEM_EXPORT(int, my_pe, ()) {
  return world().my_pe();
}
PHICOLL_SHMEM_EXPORT(int, n_pes, ()) {
  return world().n_pes();
}
PHICOLL_SHMEM_EXPORT(int, pe_accessible, (int pe)) {
  return pe >= 0 && pe < world().n_pes();
}
PHICOLL_SHMEM_EXPORT(int, addr_accessible, (const void* addr, int pe)) {
  return pe >= 0 && pe < world().n_pes() && world().where(addr, 1) != World::Where::nowhere;
}

namespace {

void* pointer_to(const void* dest, int pe) {
  const World::Where where = world().where(dest, 1);
  const bool reached =
      where == World::Where::heap || (where == World::Where::data && world().data_is_shared());
  if (!reached || pe < 0 || pe >= world().n_pes()) return nullptr;
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(dest) +
                                 static_cast<std::uintptr_t>(world().delta(pe)));
}

}  // namespace

PHICOLL_SHMEM_EXPORT(void*, ptr, (const void* dest, int pe)) {
  return pointer_to(dest, pe);
}
PHICOLL_SHMEM_EXPORT(void*, team_ptr, (shmem_team_t team, const void* dest, int pe)) {
  if (team == SHMEM_TEAM_INVALID) return nullptr;
  const Team& of = team_of(team);
  return pe < 0 || pe >= of.size() ? nullptr : pointer_to(dest, of.pes[static_cast<std::size_t>(pe)]);
}

PHICOLL_SHMEM_EXPORT(void, info_get_version, (int* major, int* minor)) {
  *major = SHMEM_MAJOR_VERSION;
  *minor = SHMEM_MINOR_VERSION;
}
PHICOLL_SHMEM_EXPORT(void, info_get_name, (char* name)) {
  std::strcpy(name, SHMEM_VENDOR_STRING);
}
PHICOLL_SHMEM_EXPORT(void, pcontrol, (int, ...)) {}

extern "C" {
double shmemx_wtime() {
  return 1e-9 * static_cast<double>(phicoll::os::now_ns());
}
void start_pes(int) {
  if (the_world == nullptr) shmem_init();
}
int _my_pe() {
  return shmem_my_pe();
}
int _num_pes() {
  return shmem_n_pes();
}
}

// Deprecated: caches are coherent here.
PHICOLL_SHMEM_EXPORT(void, set_cache_inv, ()) {}
PHICOLL_SHMEM_EXPORT(void, set_cache_line_inv, (void*)) {}
PHICOLL_SHMEM_EXPORT(void, clear_cache_inv, ()) {}
PHICOLL_SHMEM_EXPORT(void, clear_cache_line_inv, (void*)) {}
PHICOLL_SHMEM_EXPORT(void, udcflush, ()) {}
PHICOLL_SHMEM_EXPORT(void, udcflush_line, (void*)) {}
