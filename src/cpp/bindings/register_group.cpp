// Groups: ranks as threads of this process, as processes that a launcher started, and a rank's communicator.
// Every native wait is without the interpreter's lock; the main thread looks for signals in between.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>

#include "bindings/begun_handle.hpp"
#include "bindings/communicator_handle.hpp"
#include "bindings/objects.hpp"
#include "bindings/register.hpp"
#include "phicoll/collectives/operators/type_names.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/layout.hpp"
#include "phicoll/group/outside_view.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/os/shared_memory.hpp"

namespace phicoll {
namespace bindings {
namespace {

GroupOptions make_options(const std::string& wait, const std::string& placement, std::size_t memory_limit,
                          std::size_t heap_limit, std::int64_t timeout_ms, const std::string& tuning,
                          const std::string& tuning_foreign) {
  GroupOptions options;
  options.tuning = tuning;
  options.tuning_foreign = tuning_foreign;
  options.wait = parse_wait_policy(wait);
  options.placement = placement;
  options.memory_limit = memory_limit;
  options.heap_limit = heap_limit;
  options.timeout_ms = timeout_ms;
  return options;
}

/// The launcher's side of a group of processes.
class LaunchedGroup {
 public:
  LaunchedGroup(int ranks, const std::string& placement, std::size_t memory_limit, std::size_t heap_limit,
                std::int64_t timeout_ms, std::int64_t attach_timeout_ms, const std::string& tuning,
                const std::string& tuning_foreign) {
    GroupOptions options =
        make_options("adaptive", placement, memory_limit, heap_limit, timeout_ms, tuning, tuning_foreign);
    options.attach_timeout_ms = attach_timeout_ms;
    memory_ = ProcessGroup::create_memory(ranks, options);
    GroupLayout::header_at(memory_.data())->launcher_pid = static_cast<std::int32_t>(getpid());
    outside_.reset(new OutsideView(memory_.data(), ranks));
  }
  int descriptor() const { return memory_.descriptor(); }
  void started(int rank, int pid) { outside_->note_started(checked(rank), pid); }
  bool joined(int rank) { return outside_->joined(checked(rank)); }
  void fail(int rank, const std::string& reason) { outside_->break_group(rank, reason); }
  py::object broken() {
    if (!outside_->broken()) return py::none();
    const OutsideView::Cause cause = outside_->cause();
    return py::make_tuple(cause.rank, cause.reason);
  }
  bool overwritten() const { return outside_->overwritten(); }

 private:
  int checked(int rank) const {
    if (rank < 0 || rank >= outside_->ranks())
      throw ArgumentError("rank", std::to_string(rank), "0.." + std::to_string(outside_->ranks() - 1));
    return rank;
  }

  os::SharedMemory memory_;
  std::unique_ptr<OutsideView> outside_;
};

std::shared_ptr<CommunicatorHandle> join(int descriptor, int rank, const std::string& wait) {
  std::shared_ptr<ProcessGroup> group;
  {
    py::gil_scoped_release released;
    group = ProcessGroup::join(descriptor, rank, parse_wait_policy(wait));
  }
  return CommunicatorHandle::world(group->communicator(), group, group->kept_memory());
}

std::shared_ptr<CommunicatorHandle> join_from_environment(const std::string& wait) {
  std::shared_ptr<ProcessGroup> group;
  {
    py::gil_scoped_release released;
    group = ProcessGroup::from_environment(parse_wait_policy(wait));
  }
  return CommunicatorHandle::world(group->communicator(), group, group->kept_memory());
}

/// All processes of this machine that give the same name form the group.
std::shared_ptr<CommunicatorHandle> attach(const std::string& name, int size, int rank,
                                           std::size_t memory_limit, std::size_t heap_limit) {
  std::shared_ptr<ProcessGroup> group;
  {
    py::gil_scoped_release released;
    group = ProcessGroup::attach(name, size, rank,
                                 make_options("adaptive", "", memory_limit, heap_limit, 0, "", ""));
  }
  return CommunicatorHandle::world(group->communicator(), group, group->kept_memory());
}

/// Calls function(communicator) on every rank, each on a thread of its own; the function raises nothing.
void run_threads(int ranks, const std::string& placement, std::size_t memory_limit, std::size_t heap_limit,
                 std::int64_t timeout_ms, const std::string& wait, const py::function& function,
                 const std::string& tuning, const std::string& tuning_foreign) {
  const auto group = std::make_shared<ThreadGroup>(
      ranks, make_options(wait, placement, memory_limit, heap_limit, timeout_ms, tuning, tuning_foreign));
  py::gil_scoped_release released;
  group->run([&](Communicator& communicator) {
    py::gil_scoped_acquire locked;
    const std::shared_ptr<CommunicatorHandle> handle =
        CommunicatorHandle::world(communicator, nullptr, group);
    try {
      function(handle);
    } catch (py::error_already_set& error) {
      communicator.fail(error);
      error.discard_as_unraisable("a rank's function");
    }
    // Until its threads have left, however long that takes: the communicator ends here.
    if (!handle->leave(std::chrono::nanoseconds::max()))
      throw BrokenGroupError(communicator.control().broken_rank(), communicator.control().broken_reason());
  });
}

/// The names of the types that an operator accepts.
std::vector<std::string> operator_types(const std::string& name) {
  const Op op = parse_op(name);
  std::vector<std::string> found;
  for (const auto& pairing : operator_pairings())
    if (pairing.second == op) found.emplace_back(to_string(pairing.first));
  return found;
}

int unnamed_file(const std::string& label) {
  const int descriptor = os::unnamed_file(label);
  if (descriptor < 0) throw ResourceError(label + ": no file without a name: " + std::strerror(errno));
  return descriptor;
}

/// The calling process is killed when the thread that started it ends, as `parent` does at the latest.
void die_with_parent(int parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) kill(getpid(), SIGKILL);
}

void register_launching(py::module_& module) {
  py::class_<LaunchedGroup>(module, "LaunchedGroup")
      .def(py::init<int, const std::string&, std::size_t, std::size_t, std::int64_t, std::int64_t,
                    const std::string&, const std::string&>(),
           py::arg("ranks"), py::arg("placement"), py::arg("memory_limit"), py::arg("heap_limit"),
           py::arg("timeout_ms"), py::arg("attach_timeout_ms"), py::arg("tuning") = "",
           py::arg("tuning_foreign") = "")
      .def_property_readonly("descriptor", &LaunchedGroup::descriptor)
      .def_property_readonly("broken", &LaunchedGroup::broken)
      .def_property_readonly("overwritten", &LaunchedGroup::overwritten)
      .def("started", &LaunchedGroup::started, py::arg("rank"), py::arg("pid"))
      .def("joined", &LaunchedGroup::joined, py::arg("rank"))
      .def("fail", &LaunchedGroup::fail, py::arg("rank"), py::arg("reason"));
}

void register_operators(py::module_& module) {
  py::class_<OperatorHandle, std::shared_ptr<OperatorHandle>>(module, "Operator")
      .def("combine", &OperatorHandle::combine, py::arg("left"), py::arg("right"), py::arg("count"));
  module.def("operator", &OperatorHandle::predefined, py::arg("op"), py::arg("type"));
  module.def("user_operator", &OperatorHandle::user, py::arg("function"), py::arg("element_bytes"),
             py::arg("commutative"), py::arg("type") = 0);
  py::dict known;
  for (int type = 0; type < types; ++type)
    known[to_string(static_cast<Type>(type))] = type_number(static_cast<Type>(type));
  module.attr("known_types") = known;
  module.attr("most_types") = most_types;
  module.def("memory_fence", [] { std::atomic_thread_fence(std::memory_order_seq_cst); });
  module.def("name_type", &name_type, py::arg("number"), py::arg("name"));
  module.def("operator_types", &operator_types, py::arg("op"));
}

void register_begun(py::module_& module) {
  py::class_<BegunHandle, std::shared_ptr<BegunHandle>>(module, "Begun")
      .def_property_readonly("done", [](const BegunHandle& self) -> bool { return self.begun()->done; })
      .def("test", &BegunHandle::test)
      .def("wait", &BegunHandle::wait)
      .def("start", &BegunHandle::start)
      .def_property_readonly("sends",
                             [](const BegunHandle& self) {
                               return self.transfer() == nullptr ? py::object(py::none())
                                                                 : py::bool_(self.transfer()->sends);
                             })
      .def_property_readonly("cancelled", [](const BegunHandle& self) { return self.message().cancelled; })
      .def_property_readonly("source", [](const BegunHandle& self) { return self.message().envelope.source; })
      .def_property_readonly("tag", [](const BegunHandle& self) { return self.message().envelope.tag; })
      .def_property_readonly("nbytes", [](const BegunHandle& self) { return self.message().envelope.bytes; })
      .def("cancel", &BegunHandle::cancel)
      .def("object", &BegunHandle::object);
  module.def("wait_any", &BegunHandle::wait_any, py::arg("begun"));
}

void register_communicator(py::module_& module) {
  using Handle = CommunicatorHandle;
  py::class_<CommunicatorHandle, std::shared_ptr<CommunicatorHandle>>(module, "Communicator")
      .def_property_readonly("rank", &Handle::rank)
      .def_property_readonly("size", &Handle::size)
      .def_property_readonly("closed", &Handle::closed)
      .def_property_readonly("broken", &Handle::broken)
      .def("allocate_shared", &Handle::allocate_shared, py::arg("nbytes"))
      .def("release_shared", &Handle::release_shared, py::arg("offset"))
      .def("view_shared", &Handle::view_shared, py::arg("offset"), py::arg("nbytes"))
      .def("give_back", &Handle::give_back)
      .def("allocate_counted", &Handle::allocate_counted, py::arg("nbytes"))
      .def("view_counted", &Handle::view_counted, py::arg("offset"), py::arg("nbytes"))
      .def("try_lock", &Handle::try_lock, py::arg("word"), py::arg("shared"), py::arg("since_ns"))
      .def("unlock", &Handle::unlock, py::arg("word"))
      .def("check", &Handle::check)
      .def(
          "scatter_objects",
          [](Handle& self, const py::object& objects, int root) {
            return Objects(self).scatter(objects, root);
          },
          py::arg("objects"), py::arg("root"))
      .def(
          "alltoall_objects",
          [](Handle& self, const py::object& objects) { return Objects(self).alltoall(objects); },
          py::arg("objects"))
      .def("select", &Handle::select, py::arg("operation"), py::arg("algorithm"))
      .def("reproducible", &Handle::reproducible, py::arg("on"))
      .def("why", &Handle::why, py::arg("operation"), py::arg("nbytes"))
      .def("split", &Handle::split, py::arg("color"), py::arg("key"), py::arg("memory_limit") = 0)
      .def("dup", &Handle::dup, py::arg("memory_limit") = 0)
      .def("create_group", &Handle::create_group, py::arg("members"), py::arg("tag"),
           py::arg("memory_limit") = 0)
      .def_property_readonly("members", &Handle::members)
      .def("free", &Handle::free)
      .def("allocate", &Handle::allocate, py::arg("nbytes"))
      .def("fail", &Handle::fail, py::arg("reason"))
      .def("close", &Handle::close)
      .def("leave", [](Handle& self) { self.leave(std::chrono::seconds(5)); });
}

void register_joining(py::module_& module) {
  using Handle = CommunicatorHandle;
  // Only of a contiguous array; asking NumPy itself takes a microsecond.
  module.def(
      "address", [](const py::array& array) { return reinterpret_cast<std::uintptr_t>(array.data()); },
      py::arg("array"));
  module.def("join", &join, py::arg("descriptor"), py::arg("rank"), py::arg("wait") = "adaptive");
  module.def("join_from_environment", &join_from_environment, py::arg("wait") = "adaptive");
  module.def("attach", &attach, py::arg("name"), py::arg("size"), py::arg("rank"), py::arg("memory_limit"),
             py::arg("heap_limit"));
  module.def("alone", &Handle::alone, py::arg("memory_limit") = std::size_t{64} << 20);
  module.def("run_threads", &run_threads, py::arg("ranks"), py::arg("placement"), py::arg("memory_limit"),
             py::arg("heap_limit"), py::arg("timeout_ms"), py::arg("wait"), py::arg("function"),
             py::arg("tuning") = "", py::arg("tuning_foreign") = "");
  module.def("unnamed_file", &unnamed_file, py::arg("label"));
  module.def("die_with_parent", &die_with_parent, py::arg("parent"));
}

}  // namespace

void register_group(py::module_& module) {
  remember_main_thread();
  register_launching(module);
  register_operators(module);
  register_begun(module);
  register_communicator(module);
  register_joining(module);
}

}  // namespace bindings
}  // namespace phicoll
