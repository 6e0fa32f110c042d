// Point-to-point messages, as methods of the core's Communicator.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings/messages.hpp"
#include "bindings/objects.hpp"
#include "bindings/register.hpp"

namespace phicoll {
namespace bindings {
namespace {

/// A method of Messages as one of the communicator's.
template <class Result, class... Arguments>
auto method(Result (MessageCalls::*function)(Arguments...)) {
  return [function](CommunicatorHandle& self, Arguments... arguments) -> Result {
    return (MessageCalls(self).*function)(std::forward<Arguments>(arguments)...);
  };
}

}  // namespace

void register_messages(py::module_& module) {
  module.attr("any_source") = any_source;
  module.attr("any_tag") = any_tag;
  module.attr("no_rank") = no_rank;
  module.def("set_pickle", &set_pickle, py::arg("pickle"));

  py::class_<PersistentMessage>(module, "PersistentMessage").def("begin", &PersistentMessage::begin);

  py::class_<Envelope>(module, "HeldMessage")
      .def_readonly("source", &Envelope::source)
      .def_readonly("tag", &Envelope::tag)
      .def_readonly("nbytes", &Envelope::bytes);

  const auto tag = py::arg("tag");
  const auto source = py::arg("source");
  auto communicator =
      py::reinterpret_borrow<py::class_<CommunicatorHandle, std::shared_ptr<CommunicatorHandle>>>(
          module.attr("Communicator"));
  communicator.def("hold", method(&MessageCalls::hold), source, tag)
      .def("hold_now", method(&MessageCalls::hold_now), source, tag)
      .def("begin_receive_held", method(&MessageCalls::begin_receive_held), py::arg("held"),
           py::arg("buffer"), py::arg("nbytes"), py::arg("type"), py::arg("kept") = py::none())
      .def("begin_receive_held_object", method(&MessageCalls::begin_receive_held_object), py::arg("held"));
}

}  // namespace bindings
}  // namespace phicoll
