#pragma once

// Messages between two ranks, of buffers and of Python objects.

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bindings/begun_handle.hpp"
#include "bindings/communicator_handle.hpp"
#include "phicoll/messages/transfer.hpp"

namespace phicoll {
namespace bindings {

/// A message that a persistent request sends or receives again and again. All but the data is checked once.
class PersistentMessage {
 public:
  /// `message`: the fields of a Transfer that begin_send and begin_receive take.
  PersistentMessage(CommunicatorHandle& handle, const Transfer& message, void* data, const py::object& kept);
  BegunHandle begin() const;

 private:
  std::shared_ptr<CommunicatorHandle> handle_;
  Transfer message_;
  void* data_;
  std::shared_ptr<void> kept_;
};

/// The messages of one communicator.
class MessageCalls {
 public:
  explicit MessageCalls(CommunicatorHandle& handle) : handle_(handle) {}

  void send(const void* data, std::size_t bytes, int dest, int tag, unsigned type, bool synchronous);
  /// `kept` lives as long as the transfer: the owner of the memory.
  BegunHandle begin_send(const void* data, std::size_t bytes, int dest, int tag, unsigned type,
                         bool synchronous, const py::object& kept);
  BegunHandle begin_receive(void* buffer, std::size_t bytes, int source, int tag, unsigned type,
                            const py::object& kept);

  void send_object(const py::object& object, int dest, int tag, bool synchronous);
  BegunHandle begin_send_object(const py::object& object, int dest, int tag, bool synchronous);
  py::object receive_object(int source, int tag, Envelope* told);
  BegunHandle begin_receive_object(int source, int tag);
  /// As Communicator's hold and hold_now; None if there is none now. They receive only that message.
  Envelope hold(int source, int tag);
  py::object hold_now(int source, int tag);
  BegunHandle begin_receive_held(const Envelope& held, Address buffer, std::size_t bytes, unsigned type,
                                 const py::object& kept);
  BegunHandle begin_receive_held_object(const Envelope& held);

 private:
  /// begin(communicator) begins the transfer; what kept() returns lives as long as that goes on.
  template <class Kept, class Begin>
  BegunHandle begin(std::size_t bytes, const Kept& kept, const Begin& begin);
  /// begin(communicator, frame) begins to receive an object into the frame.
  template <class Begin>
  BegunHandle begin_object(const Begin& begin);

  CommunicatorHandle& handle_;
};

}  // namespace bindings
}  // namespace phicoll
