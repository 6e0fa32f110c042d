#include "bindings/buffers.hpp"

#include <pybind11/stl.h>

namespace phicoll {
namespace bindings {
namespace plain_calls {

const py::object& BufferReader::describe(Given& given, int ranks) const {
  if (given.described) return given.described;
  const Known& known = Known::get();
  const py::handle spec = a_.spec(given.parameter);
  const char* const name = PyUnicode_AsUTF8(known.names[given.parameter]);
  if (given.blocks != 0)
    given.described = py::handle(known.block)(spec, name, py::arg("writable") = given.writable,
                                              py::arg("blocks") = given.blocks);
  else
    given.described = py::handle(given.typed ? known.typed_blocks : known.blocks_of)(
        spec, name, ranks, py::arg("writable") = given.writable);
  return given.described;
}

void BufferReader::take(Given& given, Element& element, unsigned char*& data) {
  static unsigned char nothing;  // null would mean in place
  const py::object& described = given.described;
  a_.keep(described);
  given.fortran = described.attr("fortran").cast<bool>();
  const py::dtype dtype = described.attr("dtype");
  element = {dtype.ptr(), static_cast<std::size_t>(dtype.itemsize()),
             described.attr("type_number").cast<unsigned>()};
  const auto address = described.attr("address").cast<std::uintptr_t>();
  data = address != 0 ? reinterpret_cast<unsigned char*>(address) : &nothing;
  if (described.attr("packed").is_none()) return;
  direct = false;
  if (given.writable) finish = described.attr("deliver");
}

void BufferReader::read_any(Buffer& found, std::size_t before) {
  a_.keep_only(before);
  describe(found);
  take(found, found.element, found.data);
  found.count = found.described.attr("count").cast<std::size_t>();
}

Lengths& BufferReader::read(std::optional<Lengths>& place, Parameter parameter, bool writable, bool typed,
                            int ranks) {
  const std::size_t before = a_.kept();
  Lengths& found = place.emplace();
  found.parameter = parameter;
  found.writable = writable;
  found.blocks = 0;
  found.typed = typed;
  if (!typed) found.PlainBlocks::read(a_, a_.spec(parameter), writable, ranks);
  if (found) return found;
  a_.keep_only(before);
  describe(found, ranks);
  take(found, found.element, found.data);
  found.counts = found.described.attr("counts").cast<std::vector<std::size_t>>();
  found.displacements = found.described.attr("displacements").cast<std::vector<std::size_t>>();
  found.find_end();
  return found;
}

}  // namespace plain_calls
}  // namespace bindings
}  // namespace phicoll
