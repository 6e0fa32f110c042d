// The collective methods of Comm. An operation's row says which blocks a rank sends and receives, and so
// which arguments are read, how they must fit and what in place means: one reader serves all operations, and
// each in three forms.
//
// Arrays and other buffers in C order are read here. Every other argument, and all that is wrong with one,
// goes to the functions of phicoll.comm.buffers, which pack strided memory and raise.

#include <pybind11/stl.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>

#include "bindings/buffers.hpp"
#include "bindings/plain_arguments.hpp"
#include "phicoll/collectives/contract/request.hpp"

namespace phicoll {
namespace bindings {
namespace plain_calls {
namespace {

constexpr std::size_t most_element = 256;  // bytes of an element that the core's reductions take

std::string counted(std::size_t count, const char* what) {
  return std::to_string(count) + what;
}

[[noreturn]] void refuse(const char* argument, const std::string& got, const std::string& allowed) {
  const py::object type = py::module_::import("phicoll.errors").attr("ArgumentError");
  PyErr_SetObject(type.ptr(), type(argument, got, allowed).ptr());
  throw py::error_already_set();
}

/// Reads the arguments of one call.
class CollectiveReader : public BufferReader {
 public:
  CollectiveReader(const Collective& what, CommunicatorHandle& handle, const BoundArguments& arguments)
      : BufferReader(arguments), what_(what), handle_(handle) {}

  Request request;
  std::size_t bytes = 0;  ///< about as many are moved

  /// The operation is a template argument, so that a call of equal blocks runs that operation's code only.
  template <Operation operation>
  void read_all() {
    constexpr const OperationRow& row = row_of(operation);
    request.operation = operation;
    request.vector = what_.vector;
    request.exclusive = what_.exclusive;
    if (row.rooted) request.root = a_.root_of(handle_.size());
    alone([this] {
      if (!what_.vector)
        read_blocks<operation>();
      else if (row_of(operation).reduces)
        read_counts();
      else if (row_of(operation).sends == row_of(operation).receives)
        read_exchange();
      else
        read_lengths();
    });
    if (row.reduces) read_operator();
    // If the whole ranges do not meet, no two blocks do.
    const bool meet = request.send != nullptr && request.receive != nullptr &&
                      ranges_meet(request.send, request.vector ? sent_end_ : bytes, request.receive,
                                  request.vector ? received_end_ : bytes);
    if (meet && overlaps(request, handle_.rank(), handle_.size())) alone([] { refuse_overlap(); });
    if (a_.asks(algorithm_parameter)) read_algorithm();
  }

 private:
  /// Breaks the group for an error that only this rank may see.
  template <class Function>
  void alone(const Function& function) const {
    try {
      function();
    } catch (const py::error_already_set& error) {
      if (!handle_.closed()) handle_.fail_alone(error);
      throw;
    }
  }
  const OperationRow& row() const { return row_of(what_.operation); }
  std::size_t ranks() const { return static_cast<std::size_t>(handle_.size()); }
  std::size_t own() const { return static_cast<std::size_t>(handle_.rank()); }
  bool is_root() const { return request.root == handle_.rank(); }
  bool in_place(Parameter parameter) const { return plain_calls::in_place(a_.value[parameter]); }

  static void refuse_overlap() {
    const auto one = py::make_tuple(0, 1);
    py::handle(Known::get().refuse_overlap)(one, one);
  }

  /// The call's buffers of equal blocks. The smaller one, if it is the rank's own block of the other, is in
  /// place.
  template <Operation operation>
  void read_blocks() {
    constexpr const OperationRow& row = row_of(operation);
    if (operation == Operation::barrier) return;
    if (operation == Operation::broadcast) {
      Buffer message;
      read(message, buf_parameter, !is_root());
      request.receive = message.data;
      request.count = bytes = message.bytes();
      request.type = message.number();
      return;
    }
    constexpr bool scatters = operation == Operation::scatter;
    const int sends = blocks_of_part(row.sends, is_root(), handle_.size());
    const int receives = blocks_of_part(row.receives, is_root(), handle_.size());
    const bool shared =
        sends != 0 && receives != 0 && in_place(scatters ? recvbuf_parameter : sendbuf_parameter);
    Buffer send, receive;
    if (scatters && sends != 0) read(send, sendbuf_parameter, false, sends);
    if (receives != 0 && !(scatters && shared))
      read(receive, recvbuf_parameter, true, shared ? std::max(sends, receives) : receives);
    if (!scatters && sends != 0 && !shared) read(send, sendbuf_parameter, false, sends);
    request.send = send.data;
    request.receive = receive.data;
    if (send.data != nullptr && receive.data != nullptr) {
      const bool plain = send.element.dtype == receive.element.dtype && send.count == receive.count &&
                         !send.fortran && !receive.fortran;
      if (!plain) fit(send, receive);
      const unsigned char* const block = scatters           ? send.data + own() * send.bytes()
                                         : receives > sends ? receive.data + own() * receive.bytes()
                                                            : receive.data;
      if (scatters && receive.data == block) request.receive = nullptr;
      if (!scatters && send.data == block) request.send = nullptr;
    }
    const Buffer& main = scatters && sends != 0 ? send : receives != 0 ? receive : send;
    constexpr bool alike =
        row.reduces && row.sends == Part::block;  // every rank's data has the size of one block
    request.count = row.reduces ? main.count : main.bytes();
    bytes = main.bytes() * (alike ? 1 : ranks());
    if (!row.reduces)
      request.type = main.number();
    else
      note_reduced(main, request.send != nullptr ? send : main, alike ? main.count : main.count * ranks(),
                   own() * main.count);
  }

  /// Refuses blocks of different sizes.
  void fit(Buffer& send, Buffer& receive) {
    same_kind(receive, send, handle_.size());
    if (row().reduces ? send.count == receive.count : send.bytes() == receive.bytes()) return;
    if (row().reduces)
      refuse("recvbuf", counted(receive.count, " elements"),
             "as many as sendbuf, " + std::to_string(send.count));
    refuse_block(what_.operation == Operation::scatter ? receive : send,
                 what_.operation == Operation::scatter ? send.bytes() : receive.bytes());
  }
  void refuse_block(const Buffer& one, std::size_t wanted) const {
    refuse(PyUnicode_AsUTF8(Known::get().names[one.parameter]), counted(one.bytes(), " bytes"),
           counted(wanted, ", this rank's block"));
  }

  /// Blocks of any lengths on the root or on all ranks, and one block of them.
  void read_lengths() {
    const bool scatters = what_.operation == Operation::scatter;
    const Parameter of_all = scatters ? sendbuf_parameter : recvbuf_parameter;
    const Parameter of_one = scatters ? recvbuf_parameter : sendbuf_parameter;
    const auto set_one = [&](const Buffer& one) {
      if (scatters)
        request.receive = one.data;
      else
        request.send = one.data;
    };
    if (row().rooted && !is_root()) {
      Buffer one;
      read(one, of_one, scatters);
      set_one(one);
      request.count = bytes = one.bytes();
      request.type = one.number();
      return;
    }
    Lengths& all = read(received_, of_all, !scatters, what_.typed, handle_.size());
    if (scatters) {
      request.send = all.data;
      request.send_blocks = all.layout();
    } else {
      request.receive = all.data;
      request.receive_blocks = all.layout();
    }
    request.count = all.counts[own()];
    request.type = all.number();
    bytes = all.bytes();
    if (in_place(of_one)) return;
    Buffer one;
    read(one, of_one, scatters);
    if (scatters)
      same_kind(one, all, handle_.size());
    else
      same_kind(all, one, handle_.size());
    if (one.bytes() != request.count) refuse_block(one, request.count);
    sent_end_ = scatters ? all.end : request.count;
    received_end_ = scatters ? request.count : all.end;
    if (request.count == 0 || one.data != all.data + all.displacements[own()]) set_one(one);
  }

  /// Blocks of any lengths from each rank to each.
  void read_exchange() {
    Lengths& receive = read(received_, recvbuf_parameter, true, what_.typed, handle_.size());
    request.receive = receive.data;
    request.receive_blocks = request.send_blocks = receive.layout();
    request.type = what_.typed ? 0 : receive.number();
    bytes = receive.bytes();
    if (in_place(sendbuf_parameter)) return;
    Lengths& send = read(sent_, sendbuf_parameter, false, what_.typed, handle_.size());
    if (!what_.typed) same_kind(receive, send, handle_.size());
    if (send.data == receive.data && send.counts == receive.counts &&
        send.displacements == receive.displacements)
      return;
    request.send = send.data;
    request.send_blocks = send.layout();
    sent_end_ = send.end;
    received_end_ = receive.end;
    if (!what_.typed && send.number() != 0) request.type = send.number();
  }

  /// A reduction whose blocks have counts: each rank's, or what the ranks' buffers hold.
  void read_counts() {
    Buffer receive, send;
    read(receive, recvbuf_parameter, true);
    bool shared = in_place(sendbuf_parameter);
    if (!shared) {
      read(send, sendbuf_parameter, false);
      shared = send.data == receive.data && send.count != 0;
    }
    RankNumbers& counts = sent_.emplace().counts;
    PyObject* const given = a_.value[recvcounts_parameter];
    if (a_.asks(recvcounts_parameter)) {
      if (!read_numbers(given, ranks(), counts))
        counts = py::handle(Known::get().whole_counts)(py::handle(given), handle_.size())
                     .cast<std::vector<std::size_t>>();
    } else {
      if (shared) refuse("recvcounts", "None in place", counted(ranks(), " counts"));
      counts.resize(ranks());
      handle_.call(0, [&](Communicator& communicator) {
        communicator.allgather(&receive.count, counts.data(), sizeof receive.count);
      });
    }
    const std::size_t total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    if (shared) {
      if (receive.count < total)
        refuse("recvbuf", counted(receive.count, " elements in place"), counted(total, ", all blocks"));
    } else {
      same_kind(receive, send, handle_.size());
      if (send.count != total)
        refuse("sendbuf", counted(send.count, " elements"), counted(total, ", the sum of recvcounts"));
      if (receive.count < counts[own()])
        refuse("recvbuf", counted(receive.count, " elements"),
               "recvcounts[" + std::to_string(own()) + "], " + std::to_string(counts[own()]));
      request.send = send.data;
    }
    request.receive = receive.data;
    request.count = counts[own()];
    request.send_blocks.counts = counts.data();
    sent_end_ = bytes = total * receive.element.bytes;
    received_end_ = request.count * receive.element.bytes;
    note_reduced(receive, shared ? receive : send, total,
                 std::accumulate(counts.begin(), counts.begin() + handle_.rank(), std::size_t{0}));
  }

  /// What of a reduction is needed beside its request: the element, and where the rank's data and the
  /// result's part lie.
  void note_reduced(const Buffer& main, const Buffer& from, std::size_t count, std::size_t first) {
    reduced_ = main.element;
    from_ = from.data;
    total_ = count;
    first_ = row().sends == Part::block ? 0 : first;
  }

  void read_operator() {
    op_.find(a_.op(), reduced_.dtype);
    if (op_.get().context != nullptr) a_.keep(op_.kept());
    request.op = &op_.get();
    if (reduced_.bytes > most_element) gather_instead();
  }

  void read_algorithm() {
    const py::handle given = a_.value[algorithm_parameter];
    if (PyUnicode_Check(given.ptr()) == 0)
      throw py::type_error("algorithm: got " + py::repr(given).cast<std::string>() +
                           "; allowed: a text or None");
    const auto text = given.cast<std::string>();
    if (text.empty()) return;
    if (reduced_.bytes > most_element)
      refuse("algorithm", py::repr(given).cast<std::string>(),
             "none for elements of more than " + std::to_string(most_element) + " bytes");
    algorithm_ = handle_.named(what_.operation, text);
    request.algorithm = algorithm_.get();
  }

  /// Elements that are too large for the core's reductions are gathered, and combined here.
  void gather_instead() {
    const bool everywhere = what_.operation != Operation::reduce;
    const int last =
        what_.operation != Operation::scan ? handle_.size() - 1 : handle_.rank() - (what_.exclusive ? 1 : 0);
    const std::size_t nbytes = total_ * reduced_.bytes;
    void* const to = request.receive;
    const std::size_t from = first_ * reduced_.bytes, size = request.count * reduced_.bytes;
    // The request that is made instead receives elsewhere.
    if (request.send != nullptr && size != 0 && ranges_meet(request.send, nbytes, to, size))
      alone([] { refuse_overlap(); });
    const py::array_t<std::uint8_t> gathered(static_cast<py::ssize_t>(ranks() * nbytes));
    auto* const blocks = static_cast<unsigned char*>(gathered.request().ptr);
    finish = py::cpp_function([=, this_one = handle_.shared_from_this(), op = op_, count = total_,
                               kept = gathered, deliver = std::move(finish)] {
      if (to == nullptr || last < 0) return;
      try {
        for (int rank = 0; rank < last; ++rank)
          op.handle().combine(
              reinterpret_cast<std::uintptr_t>(blocks) + static_cast<std::size_t>(rank) * nbytes,
              reinterpret_cast<std::uintptr_t>(blocks) + static_cast<std::size_t>(rank + 1) * nbytes, count);
      } catch (const py::error_already_set& error) {
        this_one->fail_alone(error);
        throw;
      }
      std::memcpy(to, blocks + static_cast<std::size_t>(last) * nbytes + from, size);
      if (deliver) deliver();
    });
    a_.keep(finish);
    direct = false;
    request = Request();
    request.operation = everywhere ? Operation::allgather : Operation::gather;
    request.root = everywhere ? 0 : a_.root_of(handle_.size());
    request.send = from_;
    request.receive = blocks;
    request.count = nbytes;
    request.type = reduced_.number;
    bytes = nbytes * ranks();
  }

  const Collective& what_;
  CommunicatorHandle& handle_;
  std::optional<Lengths> sent_, received_;       // of a call with counts
  std::size_t sent_end_ = 0, received_end_ = 0;  // where their blocks end
  CoreOperator op_;
  std::shared_ptr<const AlgorithmSpec> algorithm_;
  Element reduced_;
  unsigned char* from_ = nullptr;
  std::size_t total_ = 0;  // elements that each rank contributes
  std::size_t first_ = 0;  // of them in the result's part of this rank
};

[[gnu::noinline]] void call_any(CommunicatorHandle& handle, const Request& request, std::size_t bytes) {
  handle.call(bytes, [&](Communicator& communicator) { communicator.call(request); });
}

py::object begun(CollectiveReader& reader, CommunicatorHandle& handle, const BoundArguments& a) {
  const Known& known = Known::get();
  py::object made = RequestObject::make(known.request);
  RequestObject& fields = *RequestObject::of(made.ptr());
  if (reader.finish) fields.deliver = py::object(reader.finish).release().ptr();
  if (handle.size() == 1) {  // it waits for nobody
    call_any(handle, reader.request, reader.bytes);
    fields.begun = Py_NewRef(known.ended);
    return made;
  }
  const auto call = std::make_shared<BegunHandle>(handle, reader.request, reader.bytes, a.owners());
  call->start();
  if (call->begun()->done)
    fields.begun = Py_NewRef(known.ended);
  else
    fields.call = call;
  return made;
}

/// What Start begins: the call, or where something is packed or left to do at its end, the nonblocking
/// method.
py::object prepared(const CollectiveReader& reader, const Collective& what, CommunicatorHandle& handle,
                    const BoundArguments& a) {
  const Known& known = Known::get();
  py::object made = RequestObject::make(known.prequest);
  py::object begin;
  if (reader.direct) {
    begin = py::cast(std::make_shared<BegunHandle>(handle, reader.request, reader.bytes, a.owners()));
  } else {
    begin = a.again(what.begins.c_str());
  }
  RequestObject::of(made.ptr())->begin = begin.release().ptr();
  return made;
}

/// The operation is a template argument, so that the communicator's method is chosen when this is compiled.
template <Operation operation>
py::object make(const Collective& what, CommunicatorHandle& handle, const BoundArguments& a) {
  constexpr const OperationRow& row = row_of(operation);
  const bool blocking = what.form == Collective::Form::blocking;
  if (operation == Operation::barrier && blocking && !a.asks(algorithm_parameter)) {  // nothing to read
    handle.call(0, [](Communicator& communicator) { communicator.barrier(); });
    return py::none();
  }
  CollectiveReader reader(what, handle, a);
  reader.read_all<operation>();
  if (what.form == Collective::Form::nonblocking) return begun(reader, handle, a);
  if (what.form == Collective::Form::persistent) return prepared(reader, what, handle, a);
  if (row.reduces && reader.request.operation != operation) {  // operands are gathered for Python's operator
    call_any(handle, reader.request, reader.bytes);
  } else {
    Request request = reader.request;  // what the operation fixes is a constant here, so the call folds
    request.operation = operation;
    if (row.vector_name == nullptr) request.vector = false;
    if (row.exclusive_name == nullptr) request.exclusive = false;
    handle.call(reader.bytes, [&request](Communicator& communicator) { communicator.call(request); });
  }
  if (reader.finish) reader.finish();
  return py::none();
}

std::string capital(const std::string& name) {
  return static_cast<char>(std::toupper(static_cast<unsigned char>(name[0]))) + name.substr(1);
}

}  // namespace

Collective collective_named(const std::string& name) {
  using Form = Collective::Form;
  Collective found;
  const auto is = [&](const char* mpi_name) {
    if (mpi_name == nullptr) return false;
    found.begins = std::string("I") + mpi_name;
    found.form = name == capital(mpi_name)             ? Form::blocking
                 : name == found.begins                ? Form::nonblocking
                 : name == capital(mpi_name) + "_init" ? Form::persistent
                                                       : Form::none;
    return found.form != Form::none;
  };
  for (int i = 0; i < operations; ++i) {
    found.operation = static_cast<Operation>(i);
    const OperationRow& row = row_of(found.operation);
    with_operation(found.operation, [&](auto operation) { found.make = &make<operation()>; });
    if (is(row.mpi_name)) return found;
    if ((found.exclusive = is(row.exclusive_name))) return found;
    if ((found.vector = is(row.vector_name))) return found;
    if ((found.vector = found.typed = exchanges_pairs(found.operation) && is("alltoallw"))) return found;
  }
  if (name == row_of(Operation::barrier).mpi_name) found = collective_named("Barrier");
  return found;
}

}  // namespace plain_calls
}  // namespace bindings
}  // namespace phicoll
