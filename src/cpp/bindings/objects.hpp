#pragma once

// Collectives of Python objects. An object travels in a frame of fixed size: a word with kind and length,
// then bytes. Small plain values (plain_values.hpp) are written as they are, all else as a pickle. A pickle
// without room there is a rest, which follows in a second call.
//
// An object's large buffers, such as an array's, stay out of its pickle (protocol 5). They follow the pickle
// at offsets in a table before it; the received object uses them where they arrive. A single buffer whose
// pickle fits in the frame is the whole rest.

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bindings/communicator_handle.hpp"
#include "phicoll/messages/transfer.hpp"

namespace phicoll {
namespace bindings {

py::object unpickled(const void* data, std::size_t bytes);
/// Lets an object's methods dumps and loads pickle from now on, in the whole process; None: the module pickle
/// does.
void set_pickle(const py::object& pickle);

/// Of each rest, and of buffers in it.
constexpr std::size_t buffer_alignment = 64;

/// Memory for what comes, which objects may keep.
class Memory {
 public:
  Memory() = default;
  explicit Memory(std::shared_ptr<FrameBytes> bytes) : bytes_(std::move(bytes)) {}
  explicit Memory(std::size_t bytes) : bytes_(std::make_shared<FrameBytes>(bytes)) {}
  unsigned char* at(std::size_t offset) const { return bytes_->data() + offset; }
  /// A part of it to Python, which keeps all of it.
  py::object part(std::size_t offset, std::size_t bytes) const;

 private:
  std::shared_ptr<FrameBytes> bytes_;
};

/// An object that is ready to be sent.
class Packed {
 public:
  Packed() = default;
  /// room: bytes of a frame after its first word. Raises what pickling raises.
  Packed(const py::object& object, std::size_t room);
  void write(unsigned char* frame) const;
  /// Bytes of a frame of this object alone, if it has no buffers.
  std::size_t frame_bytes() const { return sizeof(std::uint64_t) + bytes_; }
  /// Bytes that follow the frame.
  std::size_t rest() const { return rest_; }
  /// These bytes in one place, which this makes if there is none.
  const void* rest_data();
  void copy_rest(unsigned char* to) const;
  /// Whether buffers follow a pickle that the frame does not hold.
  bool has_buffers() const { return !pieces_.empty(); }
  /// What follows the word of a frame of this object alone, if it has buffers; valid while this lives.
  const std::vector<Transfer::Piece>& pieces() const { return pieces_; }

 private:
  bool take_value(PyObject* given);
  bool take_plain(PyObject* given, std::size_t room);
  bool take_text(const py::object& object, std::size_t room);
  void take_pickle(std::size_t room);
  void take_buffers(const py::object& pickle, std::size_t room);
  const void* data() const { return kept_ ? data_ : value_; }

  std::uint8_t kind_ = 0;
  unsigned char value_[224];  // of a plain value; with its word it fits a message's cell
  std::size_t bytes_ = 0;
  std::size_t rest_ = 0;
  const void* data_ = nullptr;  // of all else: into `kept_`
  py::object kept_;
  std::vector<py::object> buffers_;      // out of the pickle
  std::vector<unsigned char> table_;     // with the pickle, of several buffers
  std::vector<Transfer::Piece> pieces_;  // the rest, if it lies in several places
  std::vector<unsigned char> together_;  // the pieces in one place
};

/// An object that has come.
class Frame {
 public:
  Frame(const unsigned char* frame, std::size_t room);
  std::size_t rest() const { return rest_; }
  /// `memory` has the rest, or the whole frame, from byte `at` on.
  py::object object(const Memory& memory, std::size_t at) const;

 private:
  const unsigned char* data_;
  std::uint8_t kind_;
  std::size_t bytes_;
  std::size_t rest_;
};

/// The collectives of objects on one communicator. Arguments are checked; the sequences have an item for each
/// rank.
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
    Memory memory;
    std::size_t total = 0;
    void add(std::size_t count) {
      at.push_back((total + buffer_alignment - 1) / buffer_alignment * buffer_alignment);
      counts.push_back(count);
      total = at.back() + count;
    }
    /// Once all are added. The address of no bytes must not be null, which means "in place".
    void make() { memory = Memory(total + 1); }
  };

  std::size_t frame_bytes() const;
  std::size_t room() const;
  Packed packed(const py::object& object) const;
  std::vector<Packed> packed_items(const py::sequence& objects) const;
  Frames frames(std::size_t count) const;
  Frames frames_of(const std::vector<Packed>& items) const;
  static Rests rests_of(std::vector<Packed>& items);
  Rests rests_of(const Frames& frames) const;
  py::list objects_of(const Frames& frames, const Rests& rests) const;

  CommunicatorHandle& handle_;
};

}  // namespace bindings
}  // namespace phicoll
