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

  py::class_<TransferHandle, BegunHandle, std::shared_ptr<TransferHandle>>(module, "Transfer")
      .def_property_readonly("cancelled",
                             [](const TransferHandle& self) { return self.transfer().cancelled; })
      .def_property_readonly("sends", [](const TransferHandle& self) { return self.transfer().sends; })
      .def_property_readonly("source",
                             [](const TransferHandle& self) { return self.transfer().envelope.source; })
      .def_property_readonly("tag", [](const TransferHandle& self) { return self.transfer().envelope.tag; })
      .def_property_readonly("nbytes",
                             [](const TransferHandle& self) { return self.transfer().envelope.bytes; })
      .def("cancel", &TransferHandle::cancel)
      .def("object", &TransferHandle::object);

  py::class_<PersistentMessage>(module, "PersistentMessage").def("begin", &PersistentMessage::begin);

  py::class_<Envelope>(module, "HeldMessage")
      .def_readonly("source", &Envelope::source)
      .def_readonly("tag", &Envelope::tag)
      .def_readonly("nbytes", &Envelope::bytes);

  const auto dest = py::arg("dest");
  const auto tag = py::arg("tag");
  const auto source = py::arg("source");
  const auto type = py::arg("type");
  const auto nbytes = py::arg("nbytes");
  const auto synchronous = py::arg("synchronous") = false;
  auto communicator =
      py::reinterpret_borrow<py::class_<CommunicatorHandle, std::shared_ptr<CommunicatorHandle>>>(
          module.attr("Communicator"));
  communicator.def("send", method(&MessageCalls::send), py::arg("data"), nbytes, dest, tag, type, synchronous)
      .def("receive", method(&MessageCalls::receive), py::arg("buffer"), nbytes, source, tag, type)
      .def("begin_send", method(&MessageCalls::begin_send), py::arg("data"), nbytes, dest, tag, type,
           synchronous, py::arg("kept") = py::none())
      .def("begin_receive", method(&MessageCalls::begin_receive), py::arg("buffer"), nbytes, source, tag,
           type, py::arg("kept") = py::none())
      .def("persistent_message", method(&MessageCalls::persistent), py::arg("sends"), py::arg("data"), nbytes,
           py::arg("peer"), tag, type, py::arg("synchronous"), py::arg("kept"))
      .def("send_object", method(&MessageCalls::send_object), py::arg("object"), dest, tag, synchronous)
      .def("begin_send_object", method(&MessageCalls::begin_send_object), py::arg("object"), dest, tag,
           synchronous)
      .def("receive_object", method(&MessageCalls::receive_object_and_tell), source, tag)
      .def("begin_receive_object", method(&MessageCalls::begin_receive_object), source, tag)
      .def("hold", method(&MessageCalls::hold), source, tag)
      .def("hold_now", method(&MessageCalls::hold_now), source, tag)
      .def("begin_receive_held", method(&MessageCalls::begin_receive_held), py::arg("held"),
           py::arg("buffer"), nbytes, type, py::arg("kept") = py::none())
      .def("begin_receive_held_object", method(&MessageCalls::begin_receive_held_object), py::arg("held"))
      .def("probe", method(&MessageCalls::probe), source, tag)
      .def("probe_now", method(&MessageCalls::probe_now), source, tag);
}

}  // namespace bindings
}  // namespace phicoll
