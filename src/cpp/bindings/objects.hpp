#pragma once

// Collectives of Python objects. An object travels in a frame of fixed size: a word with its kind and length, then its bytes.
// Numbers, short texts, None and booleans are written as they are, all else as a pickle. A pickle that has no room in the
// frame is a rest, which follows in a second call.

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bindings/communicator_handle.hpp"

namespace phicoll {
namespace bindings {

py::object unpickled(const void* data, std::size_t bytes);

/// An object that is ready to be sent.
class Packed {
 public:
  Packed() = default;
  /// room: bytes of a frame after its first word. Raises what pickling raises.
  Packed(const py::object& object, std::size_t room);
  void write(unsigned char* frame) const;
  /// Bytes of a frame of this object alone, if it has no rest.
  std::size_t frame_bytes() const { return sizeof(std::uint64_t) + bytes_; }
  /// The bytes, and how many of them follow the frame: all or none.
  const void* data() const { return kept_ ? data_ : value_; }
  std::size_t rest() const { return rest_; }

 private:
  bool take_value(PyObject* given);
  bool take_text(const py::object& object, std::size_t room);

  std::uint8_t kind_ = 0;
  unsigned char value_[8] = {};  // of a number
  std::size_t bytes_ = 0;
  std::size_t rest_ = 0;
  const void* data_ = nullptr;  // of all else: into `kept_`
  py::object kept_;
};

/// An object that has come.
class Frame {
 public:
  Frame(const unsigned char* frame, std::size_t room);
  std::size_t rest() const { return rest_; }
  py::object object(const unsigned char* rest) const;

 private:
  const unsigned char* data_;
  std::uint8_t kind_;
  std::size_t bytes_;
  std::size_t rest_;
};

/// The collectives of objects on one communicator. Arguments are checked; the sequences have an item for each rank.
class Objects {
 public:
  explicit Objects(CommunicatorHandle& handle) : handle_(handle) {}
  py::object broadcast(const py::object& object, int root);
  py::list allgather(const py::object& object);
  /// The list on the root, None elsewhere.
  py::object gather(const py::object& object, int root);
  /// `objects` is read on the root alone.
  py::object scatter(const py::object& objects, int root);
  py::list alltoall(const py::object& objects);

 private:
  using Frames = std::vector<unsigned char>;
  /// The rests of several objects, one after the other.
  struct Rests {
    std::vector<std::size_t> counts, at;
    std::vector<unsigned char> bytes;
    std::size_t total = 0;
    Rests() { bytes.reserve(1); }  // the address of no bytes must not be null, which means "in place"
    void add(std::size_t count) {
      at.push_back(total);
      counts.push_back(count);
      total += count;
    }
  };

  std::size_t frame_bytes() const;
  std::size_t room() const;
  Packed packed(const py::object& object) const;
  std::vector<Packed> packed_items(const py::sequence& objects) const;
  Frames frames(std::size_t count) const;
  Frames frames_of(const std::vector<Packed>& items) const;
  static Rests rests_of(const std::vector<Packed>& items);
  Rests rests_of(const Frames& frames) const;
  py::list objects_of(const Frames& frames, const Rests& rests) const;

  CommunicatorHandle& handle_;
};

}  // namespace bindings
}  // namespace phicoll
