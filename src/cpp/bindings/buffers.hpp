#pragma once

// The buffers of a call: arrays and other memory in C order are read here, every other argument by
// phicoll.comm.buffers, which packs strided memory and raises.

#include <optional>

#include "bindings/plain_arguments.hpp"

namespace phicoll {
namespace bindings {
namespace plain_calls {

/// An argument, and what Python's reader made of it; no object if it was read here.
struct Given {
  Parameter parameter = buf_parameter;
  bool writable = false;
  int blocks = 1;  ///< 0: of any lengths
  bool typed = false;
  py::object described;
  bool fortran = false;  ///< in Fortran order, which is not C order as well
};

/// Equal blocks, of `count` elements each.
struct Buffer : Plain, Given {};

/// Blocks of any lengths.
struct Lengths : PlainBlocks, Given {};

/// Reads the buffers of one call.
class BufferReader {
 public:
  explicit BufferReader(const BoundArguments& arguments) : a_(arguments) {}
  BufferReader(const BufferReader&) = delete;
  BufferReader& operator=(const BufferReader&) = delete;

  bool direct =
      true;  ///< the core reads and writes the caller's own buffers, and nothing is left to do when it has
  py::object finish;  ///< brings what came into the caller's buffer; no object: it is there

  /// Inline, so that what a buffer begins with is not stored twice.
  [[gnu::always_inline]] void read(Buffer& found, Parameter parameter, bool writable, int blocks = 1) {
    const std::size_t before = a_.kept();
    found.Plain::read(a_, a_.spec(parameter), writable, blocks);
    found.parameter = parameter;
    found.writable = writable;
    found.blocks = blocks;
    if (found.count != 0 && blocks == 1) return;
    const auto parts = static_cast<std::size_t>(blocks);
    if (found.count != 0 && found.count % parts == 0)
      found.count /= parts;
    else
      read_any(found, before);
  }
  /// A block for each rank; `typed`: each of its own type.
  Lengths& read(std::optional<Lengths>& place, Parameter parameter, bool writable, bool typed, int ranks);
  /// What Python makes of an argument.
  const py::object& describe(Given& given, int ranks = 0) const;
  /// Refuses buffers of different types, or orders of memory.
  template <class Receive, class Send>
  void same_kind(Receive& receive, Send& send, int ranks) const {
    if (receive.element.dtype == send.element.dtype && !receive.fortran && !send.fortran) return;
    py::handle(Known::get().same_kind)(describe(receive, ranks), describe(send, ranks));
  }

 protected:
  const BoundArguments& a_;

 private:
  /// Reads a buffer that is not plain; `before`: how many owners were kept.
  void read_any(Buffer& found, std::size_t before);
  /// Takes what Python made of it. A packed copy is what the core gets.
  void take(Given& given, Element& element, unsigned char*& data);
};

}  // namespace plain_calls
}  // namespace bindings
}  // namespace phicoll
