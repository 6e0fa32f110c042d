// phicoll.shmem: the library's begin and end, symmetric memory, teams, contexts and locks. The library does
// the work; here arguments are read and errors made Python's.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <shmem.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "bindings/register.hpp"
#include "bindings/shmem_state.hpp"

namespace phicoll {
namespace bindings {
namespace {

// Of the process, as the library's own world is.
std::shared_ptr<CommunicatorHandle> the_shmem_world;

// Begin and end.

/// Returns the thread level that is provided. `world` is phicoll.COMM_WORLD's communicator.
int init(const std::shared_ptr<CommunicatorHandle>& world, const py::object& heap_bytes, int level) {
  shmem::Options options;
  options.data_segment = false;  // Python's own data: nothing of a program's
  if (!heap_bytes.is_none())
    options.heap_bytes = static_cast<std::size_t>(whole_number("heap_bytes", heap_bytes, 1, (1LL << 62) - 1));
  if (!the_shmem_world) {
    options.group = world->process_group();
    if (options.group) {
      world->call(0, [&](Communicator&) { shmem::init(options); });
      the_shmem_world = world;
    } else if (world->size() == 1) {
      shmem::init(options);
      the_shmem_world = CommunicatorHandle::world(shmem::communicator(), nullptr, nullptr);
    } else {
      throw ArgumentError("mode", "threads", "processes: PEs of phicoll.shmem are processes");
    }
  }
  return shmem::provide_threads(level);
}

void finalize() {
  if (!the_shmem_world) return;
  shmem_collective(SHMEM_TEAM_WORLD, 0, [] { shmem_finalize(); });
  the_shmem_world.reset();
}

int query_thread() {
  int provided = 0;
  shmem_query_thread(&provided);
  return provided;
}

std::string info_name() {
  char name[SHMEM_MAX_NAME_LEN];
  shmem_info_get_name(name);
  return name;
}

py::tuple info_version() {
  int major = 0, minor = 0;
  shmem_info_get_version(&major, &minor);
  return py::make_tuple(major, minor);
}

bool pe_accessible(const py::object& pe) {
  return shmem_pe_accessible(pe_number("pe", pe)) != 0;
}

bool addr_accessible(const py::object& addr, const py::object& pe) {
  const ShmemArray array("addr", addr, ShmemArray::read);
  return shmem_addr_accessible(array.data(), pe_number("pe", pe)) != 0;
}

// Symmetric memory.

/// What keeps the memory mapped as long as an array lies in it.
py::capsule keeper() {
  auto* const held = new std::shared_ptr<const void>(shmem::mapped_memory());
  return py::capsule(held, [](void* pointer) { delete static_cast<std::shared_ptr<const void>*>(pointer); });
}

constexpr long long greatest_alignment = 1LL << 30;

py::array alloc(const py::object& bytes, const py::object& align, const py::object& hints, bool clear) {
  const auto wanted = static_cast<std::size_t>(whole_number("size", bytes, 0, (1LL << 62) - 1));
  const std::size_t size = wanted != 0 ? wanted : 1;
  const long long alignment = align.is_none() ? 0 : whole_number("align", align, 0, greatest_alignment);
  if ((alignment & (alignment - 1)) != 0)
    throw ArgumentError("align", std::to_string(alignment), "a power of two up to 1073741824");
  const auto hint = static_cast<long>(
      hints.is_none()
          ? 0
          : whole_number("hints", hints, 0, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE));
  void* block = nullptr;
  shmem_collective(SHMEM_TEAM_WORLD, 0, [&] {
    if (alignment != 0)
      block = shmem_align(static_cast<std::size_t>(alignment), size);
    else if (hint != 0)
      block = shmem_malloc_with_hints(size, hint);
    else
      block = shmem_malloc(size);
    if (block == nullptr || !clear) return;
    std::memset(block, 0, size);
    shmem_barrier_all();
  });
  if (block == nullptr)
    throw ResourceError("the symmetric heap has no room for " + std::to_string(size) +
                        " bytes on every PE; give it more by init(heap_bytes=...) or SHMEM_SYMMETRIC_SIZE");
  return py::array(py::dtype::of<unsigned char>(), {static_cast<py::ssize_t>(wanted)}, {1}, block, keeper());
}

/// `mem` is an array that begins where a block of alloc() does.
void free_array(const py::object& mem) {
  const ShmemArray array("mem", mem, ShmemArray::read);
  try {
    shmem_collective(SHMEM_TEAM_WORLD, 0, [&] { shmem_free(array.data()); });
  } catch (const ArgumentError& error) {
    throw ArgumentError("mem", error.got(), error.allowed());
  }
}

py::object array_of_pe(const py::object& target, const py::object& pe) {
  const ShmemArray checked("target", target, ShmemArray::read);
  void* const there = shmem_ptr(checked.data(), pe_number("pe", pe));
  if (there == nullptr) return py::none();
  const auto array = py::reinterpret_borrow<py::array>(target);
  py::array found(array.dtype(), std::vector<py::ssize_t>(array.shape(), array.shape() + array.ndim()),
                  std::vector<py::ssize_t>(array.strides(), array.strides() + array.ndim()), there, keeper());
  if (!array.writeable()) found.attr("flags").attr("writeable") = false;
  return found;
}

// Teams and contexts, whose handles Python has as numbers.

std::uintptr_t number_of(const void* handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

int team_my_pe(const py::object& team) {
  const int me = shmem_team_my_pe(team_handle(team));
  if (me < 0) throw ArgumentError("team", "TEAM_INVALID", "a team");
  return me;
}

int team_n_pes(const py::object& team) {
  const int size = shmem_team_n_pes(team_handle(team));
  if (size < 0) throw ArgumentError("team", "TEAM_INVALID", "a team");
  return size;
}

std::uintptr_t team_split(const py::object& parent, const py::object& start, const py::object& stride,
                          const py::object& size, const py::object& num_contexts) {
  const shmem_team_t team = team_handle(parent);
  const int first = number<int>("start", start), step = number<int>("stride", stride),
            count = number<int>("size", size);
  const shmem_team_config_t config = {num_contexts.is_none() ? 0 : number<int>("num_contexts", num_contexts)};
  const long mask = num_contexts.is_none() ? 0 : SHMEM_TEAM_NUM_CONTEXTS;
  team_n_pes(parent);
  shmem_team_t made = SHMEM_TEAM_INVALID;
  int status = 0;
  shmem_collective(
      team, 0, [&] { status = shmem_team_split_strided(team, first, step, count, &config, mask, &made); });
  if (status != 0)
    throw ArgumentError("start, stride, size",
                        std::to_string(first) + ", " + std::to_string(step) + ", " + std::to_string(count),
                        "PEs of the team, and memory for a team of them");
  return number_of(made);
}

int team_num_contexts(const py::object& team) {
  shmem_team_config_t config = {0};
  team_n_pes(team);
  shmem_team_get_config(team_handle(team), SHMEM_TEAM_NUM_CONTEXTS, &config);
  return config.num_contexts;
}

/// -1 where the PE is not in the other team.
int team_translate(const py::object& from, const py::object& pe, const py::object& to) {
  const int size = team_n_pes(from);
  team_n_pes(to);
  const auto number = static_cast<int>(whole_number("pe", pe, 0, size - 1));
  return shmem_team_translate_pe(team_handle(from), number, team_handle(to));
}

void team_destroy(const py::object& team) {
  const shmem_team_t handle = team_handle(team);
  shmem_collective(handle, 0, [&] { shmem_team_destroy(handle); });
}

std::uintptr_t context_create(const py::object& team, const py::object& options) {
  const auto asked = static_cast<long>(
      whole_number("options", options, 0, SHMEM_CTX_PRIVATE | SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE));
  team_n_pes(team);
  shmem_ctx_t made = SHMEM_CTX_INVALID;
  shmem_team_create_ctx(team_handle(team), asked, &made);
  return number_of(made);
}

void context_destroy(const py::object& ctx) {
  shmem_ctx_destroy(context_handle(ctx));
}

std::uintptr_t context_team(const py::object& ctx) {
  shmem_team_t team = SHMEM_TEAM_INVALID;
  shmem_ctx_get_team(context_handle(ctx), &team);
  return number_of(team);
}

void fence(const py::object& ctx) {
  shmem_my_pe();  // throws where there is no world
  shmem_ctx_fence(context_handle(ctx));
}
void quiet(const py::object& ctx) {
  shmem_my_pe();
  shmem_ctx_quiet(context_handle(ctx));
}

// Locks.

long* lock_word(const py::object& lock) {
  const ShmemArray array("lock", lock, ShmemArray::write | ShmemArray::symmetric);
  if (!array.holds<long>('i'))
    throw ArgumentError("lock", "an array of " + array.type_name(), "one of int64, as new_lock makes it");
  return array.single<long>();
}

// A PE that a signal's handler takes out of the queue would leave the others waiting.
void set_lock(const py::object& lock) {
  long* const word = lock_word(lock);
  try {
    shmem_wait_call([&] { shmem_set_lock(word); });
  } catch (const py::error_already_set& error) {
    shmem_world().fail_alone(error);
    throw;
  }
}
bool test_lock(const py::object& lock) {
  return shmem_test_lock(lock_word(lock)) != 0;
}
void clear_lock(const py::object& lock) {
  long* const word = lock_word(lock);
  shmem_wait_call([&] { shmem_clear_lock(word); });
}

}  // namespace

CommunicatorHandle& shmem_world() {
  if (!the_shmem_world) shmem_my_pe();  // throws
  return *the_shmem_world;
}

void register_shmem(py::module_& module) {
  shmem::throw_errors();
  module.attr("SHMEM_CTX_DEFAULT") = number_of(SHMEM_CTX_DEFAULT);
  module.attr("SHMEM_TEAM_WORLD") = number_of(SHMEM_TEAM_WORLD);
  module.attr("SHMEM_TEAM_SHARED") = number_of(SHMEM_TEAM_SHARED);
  module.def("shmem_init", &init);
  module.def("shmem_finalize", &finalize);
  module.def("shmem_initialized", [] { return the_shmem_world != nullptr; });
  module.def("shmem_global_exit", [](int status) { shmem_global_exit(status); });
  module.def("shmem_query_thread", &query_thread);
  module.def("shmem_info_get_name", &info_name);
  module.def("shmem_info_get_version", &info_version);
  module.def("shmem_pcontrol", [](int level) { shmem_pcontrol(level); });
  module.def("shmem_my_pe", [] { return shmem_my_pe(); });
  module.def("shmem_n_pes", [] { return shmem_n_pes(); });
  module.def("shmem_pe_accessible", &pe_accessible);
  module.def("shmem_addr_accessible", &addr_accessible);
  module.def("shmem_alloc", &alloc);
  module.def("shmem_free", &free_array);
  module.def("shmem_ptr", &array_of_pe);
  module.def("shmem_team_my_pe", &team_my_pe);
  module.def("shmem_team_n_pes", &team_n_pes);
  module.def("shmem_team_split", &team_split);
  module.def("shmem_team_num_contexts", &team_num_contexts);
  module.def("shmem_team_translate", &team_translate);
  module.def("shmem_team_destroy", &team_destroy);
  module.def("shmem_ctx_create", &context_create);
  module.def("shmem_ctx_destroy", &context_destroy);
  module.def("shmem_ctx_team", &context_team);
  module.def("shmem_fence", &fence);
  module.def("shmem_quiet", &quiet);
  module.def("shmem_set_lock", &set_lock);
  module.def("shmem_test_lock", &test_lock);
  module.def("shmem_clear_lock", &clear_lock);
}

}  // namespace bindings
}  // namespace phicoll
