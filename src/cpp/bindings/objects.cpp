#include "bindings/objects.hpp"

#include <pybind11/gil_safe_call_once.h>

#include <cstring>
#include <utility>

#include "phicoll/collectives/operators/operators.hpp"

namespace phicoll {
namespace bindings {
namespace {

enum class Kind : std::uint8_t { pickle, number, integer, text, none, yes, no };

/// What is used of the module pickle.
struct Pickle {
  py::object dumps, loads, highest;

  /// Looked up once, and kept as long as the interpreter lives. Importing lets go of the interpreter's lock, which must not
  /// happen inside a static's own guard: see Known in register_plain_calls.cpp.
  static const Pickle& get() {
    PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<Pickle> pickle;
    return pickle
        .call_once_and_store_result([] {
          const py::module_ module = py::module_::import("pickle");
          return Pickle{module.attr("dumps"), module.attr("loads"), module.attr("HIGHEST_PROTOCOL")};
        })
        .get_stored();
  }
};

/// Data of a call that is bytes.
unsigned bytes_number() {
  return type_number(Type::uint8);
}

}  // namespace

py::object unpickled(const void* data, std::size_t bytes) {
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

Packed::Packed(const py::object& object, std::size_t room) {
  if (take_value(object.ptr()) || take_text(object, room)) return;
  const Pickle& pickle = Pickle::get();
  PyObject* const arguments[] = {object.ptr(), pickle.highest.ptr()};
  kept_ = py::reinterpret_steal<py::object>(PyObject_Vectorcall(pickle.dumps.ptr(), arguments, 2, nullptr));
  if (!kept_) {
    PyErr_Clear();
    kept_ = py::module_::import("phicoll.comm.communicator").attr("pickled")(object);
  }
  char* data = nullptr;
  Py_ssize_t length = 0;
  if (PyBytes_AsStringAndSize(kept_.ptr(), &data, &length) != 0) throw py::error_already_set();
  kind_ = static_cast<std::uint8_t>(Kind::pickle);
  data_ = data;
  bytes_ = static_cast<std::size_t>(length);
  rest_ = bytes_ > room ? bytes_ : 0;
}

void Packed::write(unsigned char* frame) const {
  const std::uint64_t head = std::uint64_t{bytes_} << 8 | kind_;
  std::memcpy(frame, &head, sizeof head);
  if (rest_ == 0) std::memcpy(frame + sizeof head, data(), bytes_);
}

Frame::Frame(const unsigned char* frame, std::size_t room) : data_(frame + sizeof(std::uint64_t)) {
  std::uint64_t head;
  std::memcpy(&head, frame, sizeof head);
  kind_ = static_cast<std::uint8_t>(head);
  bytes_ = static_cast<std::size_t>(head >> 8);
  rest_ = bytes_ > room ? bytes_ : 0;
}

py::object Frame::object(const unsigned char* rest) const {
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
    case Kind::pickle:
      break;
  }
  return unpickled(rest_ != 0 ? rest : data_, bytes_);
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

Objects::Rests Objects::rests_of(const std::vector<Packed>& items) {
  Rests rests;
  for (const Packed& item : items) {
    rests.add(item.rest());
    const auto* const data = static_cast<const unsigned char*>(item.data());
    rests.bytes.insert(rests.bytes.end(), data, data + item.rest());
  }
  return rests;
}

Objects::Rests Objects::rests_of(const Frames& frames) const {
  Rests rests;
  for (std::size_t at = 0; at < frames.size(); at += frame_bytes())
    rests.add(Frame(frames.data() + at, room()).rest());
  rests.bytes.resize(rests.total);
  return rests;
}

py::list Objects::objects_of(const Frames& frames, const Rests& rests) const {
  const std::size_t count = frames.size() / frame_bytes();
  py::list found(count);
  for (std::size_t i = 0; i < count; ++i)
    found[i] = Frame(frames.data() + i * frame_bytes(), room()).object(rests.bytes.data() + rests.at[i]);
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
  Frames rest(sends ? 0 : found.rest());
  if (found.rest() != 0) {
    void* const data = sends ? const_cast<void*>(own.data()) : rest.data();
    handle_.call(found.rest(), [&](Communicator& communicator) {
      communicator.broadcast(data, found.rest(), root, nullptr, bytes_number());
    });
  }
  return sends ? object : found.object(rest.data());
}

py::list Objects::allgather(const py::object& object) {
  const Packed own = packed(object);
  Frames frame = frames(1);
  own.write(frame.data());
  Frames all = frames(static_cast<std::size_t>(handle_.size()));
  handle_.call(all.size(), [&](Communicator& communicator) {
    communicator.allgather(frame.data(), all.data(), frame.size(), nullptr, bytes_number());
  });
  Rests rests = rests_of(all);
  if (rests.total != 0)
    handle_.call(rests.total, [&](Communicator& communicator) {
      communicator.allgatherv(own.data(), own.rest(), rests.bytes.data(), rests.counts.data(),
                              rests.at.data(), nullptr, bytes_number());
    });
  return objects_of(all, rests);
}

// A rank does not know whether others have a rest, and must not wait to learn it: the second call is always made.
py::object Objects::gather(const py::object& object, int root) {
  const bool receives = handle_.rank() == root;
  const Packed own = packed(object);
  Frames frame = frames(1);
  own.write(frame.data());
  Frames all = frames(receives ? static_cast<std::size_t>(handle_.size()) : 0);
  handle_.call(all.size(), [&](Communicator& communicator) {
    communicator.gather(frame.data(), all.data(), frame.size(), root, nullptr, bytes_number());
  });
  Rests rests = rests_of(all);
  const std::vector<std::size_t> none(static_cast<std::size_t>(handle_.size()));
  handle_.call(rests.total, [&](Communicator& communicator) {
    communicator.gatherv(own.data(), own.rest(), rests.bytes.data(),
                         receives ? rests.counts.data() : none.data(),
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
  Frames rest(own.rest());
  const std::vector<std::size_t> none(static_cast<std::size_t>(handle_.size()));
  handle_.call(own.rest(), [&](Communicator& communicator) {
    communicator.scatterv(rests.bytes.data(), sends ? rests.counts.data() : none.data(),
                          sends ? rests.at.data() : none.data(), rest.data(), own.rest(), root, nullptr,
                          bytes_number());
  });
  return own.object(rest.data());
}

py::list Objects::alltoall(const py::object& objects) {
  const std::vector<Packed> items = packed_items(objects);
  const Frames sent = frames_of(items);
  Frames all = frames(static_cast<std::size_t>(handle_.size()));
  handle_.call(all.size(), [&](Communicator& communicator) {
    communicator.alltoall(sent.data(), all.data(), frame_bytes(), nullptr, bytes_number());
  });
  const Rests out = rests_of(items);
  Rests in = rests_of(all);
  handle_.call(out.total + in.total, [&](Communicator& communicator) {
    communicator.alltoallv(out.bytes.data(), out.counts.data(), out.at.data(), in.bytes.data(),
                           in.counts.data(), in.at.data(), nullptr, bytes_number());
  });
  return objects_of(all, in);
}

}  // namespace bindings
}  // namespace phicoll
