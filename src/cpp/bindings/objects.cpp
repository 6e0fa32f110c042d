#include "bindings/objects.hpp"

#include <pybind11/gil_safe_call_once.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>
#include <utility>

#include "bindings/plain_values.hpp"
#include "phicoll/collectives/operators/operators.hpp"

namespace phicoll {
namespace bindings {
namespace {

enum class Kind : std::uint8_t { pickle, number, integer, text, none, yes, no, plain, buffer, buffers };

// Smaller buffers are left in the pickle.
constexpr Py_ssize_t least_buffer = 16384;
// Where the pickling of this thread collects buffers.
thread_local std::vector<py::object>* collected = nullptr;

/// buffer_callback of pickle.dumps: true leaves the buffer in the pickle.
PyObject* collect(PyObject*, PyObject* buffer) {
  const Py_buffer* const view = PyPickleBuffer_GetBuffer(buffer);
  if (view == nullptr) return nullptr;
  if (collected == nullptr || view->len < least_buffer || PyBuffer_IsContiguous(view, 'A') == 0)
    Py_RETURN_TRUE;
  collected->push_back(py::reinterpret_borrow<py::object>(buffer));
  Py_RETURN_FALSE;
}
PyMethodDef collect_definition = {"collect", &collect, METH_O, nullptr};

/// What is used of the module pickle.
struct Pickle {
  py::object dumps, loads, highest, callback, names;
  py::object refusals;  // what dumps raises for what cloudpickle may take

  /// Looked up once, and kept as long as the interpreter lives. Importing lets go of the interpreter's lock,
  /// which must not happen inside a static's own guard: see Known in register_plain_calls.cpp.
  static const Pickle& get() {
    PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<Pickle> pickle;
    return pickle
        .call_once_and_store_result([] {
          const py::module_ module = py::module_::import("pickle");
          return Pickle{module.attr("dumps"),
                        module.attr("loads"),
                        module.attr("HIGHEST_PROTOCOL"),
                        py::reinterpret_steal<py::object>(PyCFunction_New(&collect_definition, nullptr)),
                        py::make_tuple("buffer_callback"),
                        py::make_tuple(module.attr("PicklingError"), py::handle(PyExc_AttributeError),
                                       py::handle(PyExc_TypeError))};
        })
        .get_stored();
  }
};

/// The program's, an object with dumps and loads, kept as long as the interpreter lives; null: the module's.
std::atomic<PyObject*> own_pickle{nullptr};

/// Data of a call that is bytes.
unsigned bytes_number() {
  return type_number(Type::uint8);
}

}  // namespace

void set_pickle(const py::object& pickle) {
  own_pickle.store(pickle.is_none() ? nullptr : py::object(pickle).release().ptr(),
                   std::memory_order_release);
}

// The program's function may keep what it gets, and gets a copy.
py::object unpickled(const void* data, std::size_t bytes) {
  if (PyObject* const own = own_pickle.load(std::memory_order_acquire))
    return py::handle(own).attr("loads")(py::bytes(static_cast<const char*>(data), bytes));
  return Pickle::get().loads(py::memoryview::from_memory(data, static_cast<py::ssize_t>(bytes)));
}

bool Packed::take_value(PyObject* given) {
  const auto take = [this](Kind kind, const void* value, std::size_t bytes) {
    kind_ = static_cast<std::uint8_t>(kind);
    bytes_ = bytes;
    std::memcpy(value_, value, bytes);
    return true;
  };
  if (PyFloat_CheckExact(given)) {
    const double value = PyFloat_AS_DOUBLE(given);
    return take(Kind::number, &value, sizeof value);
  }
  if (given == Py_None) return take(Kind::none, value_, 0);
  if (PyBool_Check(given)) return take(given == Py_True ? Kind::yes : Kind::no, value_, 0);
  if (!PyLong_CheckExact(given)) return false;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(given, &overflow);
  return overflow == 0 && take(Kind::integer, &value, sizeof value);
}

bool Packed::take_text(const py::object& object, std::size_t room) {
  if (!PyUnicode_CheckExact(object.ptr())) return false;
  Py_ssize_t length = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(object.ptr(), &length);
  if (text == nullptr) PyErr_Clear();  // half of a surrogate pair
  if (text == nullptr || static_cast<std::size_t>(length) > room) return false;
  kind_ = static_cast<std::uint8_t>(Kind::text);
  data_ = text;
  bytes_ = static_cast<std::size_t>(length);
  kept_ = object;
  return true;
}

bool Packed::take_plain(PyObject* given, std::size_t room) {
  kind_ = static_cast<std::uint8_t>(Kind::plain);
  bytes_ = write_plain(given, value_, std::min(room, sizeof value_));
  return bytes_ != 0;
}

Packed::Packed(const py::object& object, std::size_t room) {
  if (PyObject* const own = own_pickle.load(std::memory_order_acquire)) {
    kept_ = py::handle(own).attr("dumps")(object);
    take_pickle(room);
    return;
  }
  if (take_value(object.ptr()) || take_text(object, room) || take_plain(object.ptr(), room)) return;
  const Pickle& pickle = Pickle::get();
  PyObject* const arguments[] = {object.ptr(), pickle.highest.ptr(), pickle.callback.ptr()};
  std::vector<py::object>* const outer = collected;
  collected = &buffers_;
  kept_ = py::reinterpret_steal<py::object>(
      PyObject_Vectorcall(pickle.dumps.ptr(), arguments, 2, pickle.names.ptr()));
  collected = outer;
  if (!kept_) {
    if (PyErr_ExceptionMatches(pickle.refusals.ptr()) == 0) throw py::error_already_set();
    PyErr_Clear();
    buffers_.clear();
    kept_ = py::module_::import("phicoll.comm.pickles").attr("pickled")(object);
  }
  buffers_.empty() ? take_pickle(room) : take_buffers(kept_, room);
}

void Packed::take_pickle(std::size_t room) {
  char* data = nullptr;
  Py_ssize_t length = 0;
  if (PyBytes_AsStringAndSize(kept_.ptr(), &data, &length) != 0) throw py::error_already_set();
  kind_ = static_cast<std::uint8_t>(Kind::pickle);
  data_ = data;
  bytes_ = static_cast<std::size_t>(length);
  rest_ = bytes_ > room ? bytes_ : 0;
}

// In front of several buffers: their number, the pickle's length, the places and lengths of all, the pickle.
void Packed::take_buffers(const py::object& pickle, std::size_t room) {
  const auto text = pickle.cast<std::string_view>();
  const auto piece_of = [](const py::object& buffer) {
    const Py_buffer* const view = PyPickleBuffer_GetBuffer(buffer.ptr());
    return Transfer::Piece{view->buf, static_cast<std::size_t>(view->len)};
  };
  if (buffers_.size() == 1 && room != SIZE_MAX && sizeof(std::uint64_t) + text.size() <= room) {
    kind_ = static_cast<std::uint8_t>(Kind::buffer);
    const std::uint64_t length = text.size();
    table_.resize(sizeof length + text.size());
    std::memcpy(table_.data(), &length, sizeof length);
    std::memcpy(table_.data() + sizeof length, text.data(), text.size());
    data_ = piece_of(buffers_[0]).data;
    bytes_ = rest_ = piece_of(buffers_[0]).bytes;
    return;
  }
  static const unsigned char nothing[buffer_alignment] = {};
  kind_ = static_cast<std::uint8_t>(Kind::buffers);
  // A frame of this object alone begins with the word, a rest without it.
  const std::size_t lead = room == SIZE_MAX ? sizeof(std::uint64_t) : 0;
  std::vector<std::uint64_t> numbers{buffers_.size(), text.size()};
  bytes_ = (2 + 2 * buffers_.size()) * sizeof(std::uint64_t) + text.size();
  pieces_.push_back({nullptr, bytes_});
  for (const py::object& buffer : buffers_) {
    const std::size_t pad = (buffer_alignment - (bytes_ + lead) % buffer_alignment) % buffer_alignment;
    pieces_.push_back({nothing, pad});
    pieces_.push_back(piece_of(buffer));
    numbers.push_back(bytes_ + pad);
    numbers.push_back(pieces_.back().bytes);
    bytes_ += pad + pieces_.back().bytes;
  }
  table_.resize(pieces_[0].bytes);
  const std::size_t at = numbers.size() * sizeof(std::uint64_t);
  std::memcpy(table_.data(), numbers.data(), at);
  std::memcpy(table_.data() + at, text.data(), text.size());
  pieces_[0].data = table_.data();
  rest_ = bytes_;
}

void Packed::write(unsigned char* frame) const {
  const std::uint64_t head = std::uint64_t{bytes_} << 8 | kind_;
  std::memcpy(frame, &head, sizeof head);
  if (kind_ == static_cast<std::uint8_t>(Kind::buffer))
    std::memcpy(frame + sizeof head, table_.data(), table_.size());
  else if (rest_ == 0)
    std::memcpy(frame + sizeof head, data(), bytes_);
}

const void* Packed::rest_data() {
  if (pieces_.empty()) return data();
  together_.resize(rest_);
  copy_rest(together_.data());
  return together_.data();
}

void Packed::copy_rest(unsigned char* to) const {
  if (rest_ == 0) return;
  if (pieces_.empty()) {
    std::memcpy(to, data(), rest_);
    return;
  }
  for (const Transfer::Piece& piece : pieces_) {
    std::memcpy(to, piece.data, piece.bytes);
    to += piece.bytes;
  }
}

py::object Memory::part(std::size_t offset, std::size_t bytes) const {
  const py::capsule owner(new std::shared_ptr<FrameBytes>(bytes_),
                          [](void* kept) { delete static_cast<std::shared_ptr<FrameBytes>*>(kept); });
  return py::array_t<std::uint8_t>(static_cast<py::ssize_t>(bytes), at(offset), owner);
}

Frame::Frame(const unsigned char* frame, std::size_t room) : data_(frame + sizeof(std::uint64_t)) {
  std::uint64_t head;
  std::memcpy(&head, frame, sizeof head);
  kind_ = static_cast<std::uint8_t>(head);
  bytes_ = static_cast<std::size_t>(head >> 8);
  const auto kind = static_cast<Kind>(kind_);
  rest_ = bytes_ > room || kind == Kind::buffer || (kind == Kind::buffers && room != SIZE_MAX) ? bytes_ : 0;
}

namespace {

/// The object of a pickle whose buffers lie in `memory`.
py::object with_buffers(std::string_view pickle, const Memory& memory,
                        const std::vector<std::pair<std::size_t, std::size_t>>& places) {
  py::list buffers;
  for (const auto& place : places) buffers.append(memory.part(place.first, place.second));
  const py::memoryview text =
      py::memoryview::from_memory(pickle.data(), static_cast<py::ssize_t>(pickle.size()));
  return Pickle::get().loads(text, py::arg("buffers") = buffers);
}

}  // namespace

py::object Frame::object(const Memory& memory, std::size_t at) const {
  switch (static_cast<Kind>(kind_)) {
    case Kind::number: {
      double value;
      std::memcpy(&value, data_, sizeof value);
      return py::float_(value);
    }
    case Kind::integer: {
      long long value;
      std::memcpy(&value, data_, sizeof value);
      return py::int_(value);
    }
    case Kind::text:
      return py::str(reinterpret_cast<const char*>(data_), bytes_);
    case Kind::none:
      return py::none();
    case Kind::yes:
      return py::bool_(true);
    case Kind::no:
      return py::bool_(false);
    case Kind::plain:
      return read_plain(data_);
    case Kind::buffer: {
      std::uint64_t length;
      std::memcpy(&length, data_, sizeof length);
      const auto* const pickle = reinterpret_cast<const char*>(data_ + sizeof length);
      return with_buffers({pickle, static_cast<std::size_t>(length)}, memory, {{at, bytes_}});
    }
    case Kind::buffers: {
      const unsigned char* const table = memory.at(at);
      const auto number = [table](std::size_t place) {
        std::uint64_t found;
        std::memcpy(&found, table + place * sizeof found, sizeof found);
        return static_cast<std::size_t>(found);
      };
      const std::size_t count = number(0);
      std::vector<std::pair<std::size_t, std::size_t>> places;
      for (std::size_t i = 0; i < count; ++i) places.emplace_back(at + number(2 + 2 * i), number(3 + 2 * i));
      const auto* const pickle =
          reinterpret_cast<const char*>(table + (2 + 2 * count) * sizeof(std::uint64_t));
      return with_buffers({pickle, number(1)}, memory, places);
    }
    case Kind::pickle:
      break;
  }
  return unpickled(rest_ != 0 ? memory.at(at) : data_, bytes_);
}

std::size_t Objects::frame_bytes() const {
  return handle_.size() <= 16 ? 256 : 64;
}

std::size_t Objects::room() const {
  return frame_bytes() - sizeof(std::uint64_t);
}

Packed Objects::packed(const py::object& object) const {
  try {
    return Packed(object, room());
  } catch (const py::error_already_set& error) {
    handle_.fail_alone(error);
    throw;
  }
}

std::vector<Packed> Objects::packed_items(const py::sequence& objects) const {
  std::vector<Packed> items;
  for (const py::handle item : objects) items.push_back(packed(py::reinterpret_borrow<py::object>(item)));
  return items;
}

Objects::Frames Objects::frames(std::size_t count) const {
  return Frames(count * frame_bytes());
}

Objects::Frames Objects::frames_of(const std::vector<Packed>& items) const {
  Frames found = frames(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) items[i].write(found.data() + i * frame_bytes());
  return found;
}

Objects::Rests Objects::rests_of(std::vector<Packed>& items) {
  Rests rests;
  for (const Packed& item : items) rests.add(item.rest());
  rests.make();
  for (std::size_t i = 0; i < items.size(); ++i) items[i].copy_rest(rests.memory.at(rests.at[i]));
  return rests;
}

Objects::Rests Objects::rests_of(const Frames& frames) const {
  Rests rests;
  for (std::size_t at = 0; at < frames.size(); at += frame_bytes())
    rests.add(Frame(frames.data() + at, room()).rest());
  rests.make();
  return rests;
}

py::list Objects::objects_of(const Frames& frames, const Rests& rests) const {
  const std::size_t count = frames.size() / frame_bytes();
  py::list found(count);
  for (std::size_t i = 0; i < count; ++i)
    found[i] = Frame(frames.data() + i * frame_bytes(), room()).object(rests.memory, rests.at[i]);
  return found;
}

py::object Objects::broadcast(const py::object& object, int root) {
  const bool sends = handle_.rank() == root;
  Frames frame = frames(1);
  Packed own;
  if (sends) {
    own = packed(object);
    own.write(frame.data());
  }
  handle_.call(frame.size(), [&](Communicator& communicator) {
    communicator.broadcast(frame.data(), frame.size(), root, nullptr, bytes_number());
  });
  const Frame found(frame.data(), room());
  const Memory rest = sends || found.rest() == 0 ? Memory() : Memory(found.rest());
  if (found.rest() != 0) {
    void* const data = sends ? const_cast<void*>(own.rest_data()) : rest.at(0);
    handle_.call(found.rest(), [&](Communicator& communicator) {
      communicator.broadcast(data, found.rest(), root, nullptr, bytes_number());
    });
  }
  return sends ? object : found.object(rest, 0);
}

py::list Objects::allgather(const py::object& object) {
  Packed own = packed(object);
  Frames frame = frames(1);
  own.write(frame.data());
  Frames all = frames(static_cast<std::size_t>(handle_.size()));
  handle_.call(all.size(), [&](Communicator& communicator) {
    communicator.allgather(frame.data(), all.data(), frame.size(), nullptr, bytes_number());
  });
  Rests rests = rests_of(all);
  const void* const data = own.rest_data();
  if (rests.total != 0)
    handle_.call(rests.total, [&](Communicator& communicator) {
      communicator.allgatherv(data, own.rest(), rests.memory.at(0), rests.counts.data(), rests.at.data(),
                              nullptr, bytes_number());
    });
  return objects_of(all, rests);
}

// A rank does not know whether others have a rest, and must not wait to learn it: the second call is always
// made.
py::object Objects::gather(const py::object& object, int root) {
  const bool receives = handle_.rank() == root;
  Packed own = packed(object);
  Frames frame = frames(1);
  own.write(frame.data());
  Frames all = frames(receives ? static_cast<std::size_t>(handle_.size()) : 0);
  handle_.call(all.size(), [&](Communicator& communicator) {
    communicator.gather(frame.data(), all.data(), frame.size(), root, nullptr, bytes_number());
  });
  Rests rests = rests_of(all);
  const std::vector<std::size_t> none(static_cast<std::size_t>(handle_.size()));
  const void* const data = own.rest_data();
  handle_.call(rests.total + own.rest(), [&](Communicator& communicator) {
    communicator.gatherv(data, own.rest(), rests.memory.at(0), receives ? rests.counts.data() : none.data(),
                         receives ? rests.at.data() : none.data(), root, nullptr, bytes_number());
  });
  if (!receives) return py::none();
  return objects_of(all, rests);
}

py::object Objects::scatter(const py::object& objects, int root) {
  const bool sends = handle_.rank() == root;
  std::vector<Packed> items;
  if (sends) items = packed_items(objects);
  const Frames all = frames_of(items);
  Frames frame = frames(1);
  handle_.call(all.size(), [&](Communicator& communicator) {
    communicator.scatter(all.data(), frame.data(), frame.size(), root, nullptr, bytes_number());
  });
  const Frame own(frame.data(), room());
  const Rests rests = rests_of(items);
  const Memory rest(own.rest() + 1);
  const std::vector<std::size_t> none(static_cast<std::size_t>(handle_.size()));
  handle_.call(own.rest(), [&](Communicator& communicator) {
    communicator.scatterv(rests.memory.at(0), sends ? rests.counts.data() : none.data(),
                          sends ? rests.at.data() : none.data(), rest.at(0), own.rest(), root, nullptr,
                          bytes_number());
  });
  return own.object(rest, 0);
}

py::list Objects::alltoall(const py::object& objects) {
  std::vector<Packed> items = packed_items(objects);
  const Frames sent = frames_of(items);
  Frames all = frames(static_cast<std::size_t>(handle_.size()));
  handle_.call(all.size(), [&](Communicator& communicator) {
    communicator.alltoall(sent.data(), all.data(), frame_bytes(), nullptr, bytes_number());
  });
  const Rests out = rests_of(items);
  Rests in = rests_of(all);
  handle_.call(out.total + in.total, [&](Communicator& communicator) {
    communicator.alltoallv(out.memory.at(0), out.counts.data(), out.at.data(), in.memory.at(0),
                           in.counts.data(), in.at.data(), nullptr, bytes_number());
  });
  return objects_of(all, in);
}

}  // namespace bindings
}  // namespace phicoll
