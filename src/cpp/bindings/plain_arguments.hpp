#pragma once

// The arguments of the methods of Comm that C++ makes (register_plain_calls.cpp): NumPy arrays in C order and
// other buffers, alone or with a count and one of MPI's types, operators, ranks and tags by number, and
// objects. What is read here refuses nothing: what it does not take, phicoll.comm reads.

#include <pybind11/gil_safe_call_once.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings/begun_handle.hpp"
#include "bindings/communicator_handle.hpp"
#include "bindings/free_threading.hpp"
#include "bindings/messages.hpp"
#include "bindings/request_object.hpp"

namespace phicoll {
namespace bindings {
namespace plain_calls {

/// The parameters of the calls, beside the communicator.
enum Parameter {
  buf_parameter,
  sendbuf_parameter,
  recvbuf_parameter,
  obj_parameter,
  sendobj_parameter,
  recvcounts_parameter,
  op_parameter,
  root_parameter,
  dest_parameter,
  source_parameter,
  tag_parameter,
  sendtag_parameter,
  recvtag_parameter,
  status_parameter,
  info_parameter,
  algorithm_parameter,
  parameters
};

/// What the calls look up, once. The references live as long as the interpreter.
struct Known {
  PyTypeObject* array = nullptr;
  PyTypeObject* comm = nullptr;
  Py_ssize_t core_slot = 0;  // where an instance of it keeps the core's communicator
  PyTypeObject* communicator = nullptr;
  PyTypeObject* begun = nullptr;
  PyTypeObject* persistent_message = nullptr;
  PyTypeObject* request = nullptr;
  PyTypeObject* prequest = nullptr;
  PyTypeObject* datatype = nullptr;
  PyTypeObject* status = nullptr;
  PyObject* ended = nullptr;
  PyObject* core = nullptr;  // interned names
  PyObject* dtype = nullptr;
  PyObject* tell = nullptr;
  PyObject* cancelled = nullptr;
  PyObject* names[parameters] = {};
  PyObject* in_place = nullptr;
  PyObject* sum = nullptr;
  PyObject* type_number = nullptr;
  PyObject* core_operator = nullptr;
  PyObject* block = nullptr;  // functions of phicoll.comm.buffers and numbers
  PyObject* blocks_of = nullptr;
  PyObject* typed_blocks = nullptr;
  PyObject* same_kind = nullptr;
  PyObject* refuse_overlap = nullptr;
  PyObject* root_of = nullptr;
  PyObject* whole_counts = nullptr;
  PyObject* rank_or_tag = nullptr;
  PyObject* check_status = nullptr;
  PyObject* check_room = nullptr;
  PyObject* refuse_shared = nullptr;

  /// At the first call, as the modules that have these import this one. Importing lets go of the
  /// interpreter's lock, so two ranks' threads may both look up; a static's own guard would be held
  /// meanwhile, and they would wait for each other.
  static const Known& get() {
    const Known* const found = found_.load(std::memory_order_acquire);
    return __builtin_expect(found != nullptr, 1) ? *found : first();
  }

 private:
  static const Known& first();
  static Known look_up();

  static inline std::atomic<const Known*> found_{nullptr};  // all of it was stored before
};

/// A dtype of fixed size. It is known by its address, which the reference keeps from being used again.
struct Element {
  PyObject* dtype = nullptr;
  std::size_t bytes = 0;
  unsigned number = 0;

  void drop() { Py_XDECREF(dtype); }
};

/// The core's operator for a type, or a user's.
class CoreOperator {
 public:
  /// Throws as phicoll.comm.operators.core_operator does.
  void find(PyObject* op, PyObject* dtype);
  const OperatorHandle& handle() const { return *core_; }
  const Operator& get() const { return core_->get(); }
  /// What keeps the operator of a user or of NumPy's; the core's own need nothing.
  const py::object& kept() const { return kept_; }

 private:
  py::object kept_;  // the table may drop its own while the call waits
  const OperatorHandle* core_ = nullptr;
};

struct BoundArguments;

/// A method that C++ makes: of Comm, of Request, without arguments but a status, or of its class, with a list
/// of requests.
struct Method {
  const char* name;
  /// The method's result; no object if the call is not plain.
  py::object (*call)(CommunicatorHandle& handle, const BoundArguments& arguments) = nullptr;
  py::object (*request_call)(PyObject* request, PyObject* status) = nullptr;
  py::object (*requests_call)(PyObject* requests) = nullptr;
};

/// The methods, by what they are about.
std::span<const Method> message_methods();
std::span<const Method> request_methods();

/// A collective method, as its name says: Gatherv, Igatherv and Gatherv_init are three forms of one call.
struct Collective {
  enum class Form { none, blocking, nonblocking, persistent };

  Form form = Form::none;  ///< none: it is no collective method
  Operation operation = Operation::barrier;
  bool vector = false;     ///< with counts
  bool exclusive = false;  ///< without the rank's own elements
  bool typed = false;      ///< with a type for each rank
  std::string begins;      ///< the nonblocking method's name
  /// Makes, begins or prepares the call, and returns what the method returns.
  py::object (*make)(const Collective& what, CommunicatorHandle& handle,
                     const BoundArguments& arguments) = nullptr;
};
Collective collective_named(const std::string& name);

/// What a method takes beside the communicator.
struct Signature {
  std::array<Parameter, 8> takes{};
  std::size_t required = 0;    ///< the first of them
  std::size_t positional = 0;  ///< those that may be given by their place
  std::size_t taken = 0;

  /// That of a function of Python's. Throws ArgumentError("function") for a parameter that is not known here.
  static Signature of(const py::function& function);
};

/// Whether a status may be filled in: it is a Status, or none is given.
bool plain_status(PyObject* status);
/// Fills in a status, if one is given.
void tell(PyObject* status, const Envelope& envelope);

/// The items of a list or tuple, which may change meanwhile; no object if it is neither.
py::tuple items_of(PyObject* given);
/// A number from 0 that is less than `bound`; -1 if it is anything else.
int whole_number(PyObject* object, long bound);
/// A number for each rank. Those of few ranks lie in the object, since an allocation takes as long as a good
/// part of a small call.
class RankNumbers {
 public:
  void resize(std::size_t size) {
    if (size > few) far_.resize(size);
    size_ = size;
  }
  void clear() { size_ = 0; }
  RankNumbers& operator=(const std::vector<std::size_t>& numbers) {
    resize(numbers.size());
    std::copy(numbers.begin(), numbers.end(), data());
    return *this;
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t* data() { return size_ > few ? far_.data() : near_; }
  const std::size_t* data() const { return size_ > few ? far_.data() : near_; }
  const std::size_t* begin() const { return data(); }
  const std::size_t* end() const { return data() + size_; }
  std::size_t& operator[](std::size_t rank) { return data()[rank]; }
  std::size_t operator[](std::size_t rank) const { return data()[rank]; }
  friend bool operator==(const RankNumbers& a, const RankNumbers& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  static constexpr std::size_t few = 8;
  std::size_t size_ = 0;
  std::size_t near_[few];
  std::vector<std::size_t> far_;
};
/// The numbers of a list, a tuple or an array of the machine's integers, one for each rank; false if they are
/// anything else.
bool read_numbers(PyObject* given, std::size_t ranks, RankNumbers& numbers);

/// The value of each parameter of one method call, like Python's inspect.BoundArguments.
struct BoundArguments {
  PyObject* self;                                       // the communicator, as the program has it
  alignas(16) std::array<PyObject*, parameters> value;  // null: not given
  bool plain = true;

  /// `args`: the communicator and what follows it. Not plain: they do not fit the signature.
  BoundArguments(PyObject* const* args, std::size_t count, PyObject* names, const Signature& signature)
      : self(args[0]) {
    clear(std::make_index_sequence<parameters / 2>());
    plain = count - 1 <= signature.positional;
    if (!plain) return;
    for (std::size_t i = 0; i + 1 < count; ++i) value[signature.takes[i]] = args[i + 1];
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < named; ++i) {
      PyObject** const place = place_of(PyTuple_GET_ITEM(names, i), signature);
      if (place == nullptr || *place != nullptr) {
        plain = false;
        return;
      }
      *place = args[count + static_cast<std::size_t>(i)];
    }
    for (std::size_t i = count - 1; i < signature.required; ++i)
      plain = plain && value[signature.takes[i]] != nullptr;
  }
  ~BoundArguments() { keep_only(0); }
  BoundArguments(const BoundArguments&) = delete;
  BoundArguments& operator=(const BoundArguments&) = delete;

  PyObject* op() const { return value[op_parameter] != nullptr ? value[op_parameter] : Known::get().sum; }
  /// What a parameter is; None if it is not given.
  PyObject* spec(Parameter parameter) const {
    return value[parameter] != nullptr ? value[parameter] : Py_None;
  }
  /// Whether it is given and not None.
  bool asks(Parameter parameter) const { return value[parameter] != nullptr && value[parameter] != Py_None; }
  /// The root's rank, which all ranks see alike.
  int root_of(int size) const;
  /// A rank or tag, which the core checks; `otherwise` if it is not given.
  int number(Parameter parameter, int otherwise) const;
  /// A function without arguments that calls another method of the communicator's with these.
  py::object again(const char* method) const;
  /// Keeps the owner of a buffer until the call has ended.
  void keep(py::object owner) const { owners_[owned_++] = owner.release().ptr(); }
  /// How many owners are kept, and as many again: what a buffer that was not plain has left is let go.
  std::size_t kept() const { return owned_; }
  void keep_only(std::size_t count) const {
    while (owned_ > count) Py_DECREF(owners_[--owned_]);
  }
  /// What owns the buffers.
  py::object owners() const {
    if (owned_ == 1) return py::reinterpret_borrow<py::object>(owners_[0]);
    py::tuple all(owned_);
    for (std::size_t i = 0; i < owned_; ++i) all[i] = py::handle(owners_[i]);
    return all;
  }
  PyObject* status() const { return value[status_parameter]; }

 private:
  PyObject** place_of(PyObject* name, const Signature& signature);
  /// Two parameters a store. A loop becomes a string instruction, whose start takes tens of cycles.
  template <std::size_t... pair>
  void clear(std::index_sequence<pair...>) {
    static_assert(parameters % 2 == 0, "the last parameter has no other");
    using Two [[gnu::vector_size(2 * sizeof(PyObject*)), gnu::may_alias]] = std::uintptr_t;
    ((reinterpret_cast<Two*>(value.data())[pair] = Two{}), ...);
  }

  // Of two buffers and the lists that they are in, an operator, and what ends the call.
  mutable std::array<PyObject*, 6> owners_;  // references; the first `owned_` are set
  mutable std::size_t owned_ = 0;
};

/// A buffer in C order, without its type.
struct OpenBuffer {
  unsigned char* data = nullptr;
  std::size_t bytes = 0;  ///< 0: it is not plain, or empty
  Element element;        ///< its own type, if that is plain

  /// The arguments keep the object. `writable`: the buffer must be.
  OpenBuffer(const BoundArguments& arguments, PyObject* object, bool writable);
};

/// Elements in C order, as an argument describes them: a buffer alone, or in a list or tuple with a type, or
/// a count and a type. False if the argument is anything else, has no elements, or is not writable where that
/// is asked for. `blocks`: how many of the same count there are.
struct Plain {
  Element element;
  unsigned char* data = nullptr;
  std::size_t count = 0;

  Plain() = default;
  Plain(const BoundArguments& arguments, PyObject* spec, bool writable, int blocks = 1) {
    read(arguments, spec, writable, blocks);
  }
  /// Reads into one that has no elements.
  void read(const BoundArguments& arguments, PyObject* spec, bool writable, int blocks);
  /// The same of an array.
  void read_array(const BoundArguments& arguments, PyObject* array, bool writable);
  explicit operator bool() const { return count != 0; }
  std::size_t bytes() const { return count * element.bytes; }
  unsigned number() const { return element.number; }
  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(data); }
  bool overlaps(const Plain& other) const {
    return data < other.data + other.bytes() && other.data < data + bytes();
  }
};

/// A block for each rank, of any lengths: a list or tuple of a buffer, counts, displacements perhaps, and a
/// type perhaps.
struct PlainBlocks {
  Element element;
  unsigned char* data = nullptr;
  RankNumbers counts;  ///< in bytes, as the displacements; none if the argument is not plain
  RankNumbers displacements;
  std::size_t end = 0;  ///< after the last byte of any block; 0: there is none

  /// Reads into one that has no blocks.
  void read(const BoundArguments& arguments, PyObject* spec, bool writable, int ranks);
  explicit operator bool() const { return !counts.empty(); }
  std::size_t bytes() const;
  /// The number by which ranks compare types: none if there is nothing.
  unsigned number() const { return end == 0 ? 0 : element.number; }
  /// Works out `end`.
  void find_end();
  phicoll::Blocks layout() const { return {counts.data(), displacements.data()}; }
};

inline bool in_place(PyObject* spec) {
  return spec == Py_None || spec == Known::get().in_place;
}

/// The core's object in an instance of its type, which pybind11 would look up by way of its base classes.
template <class Core>
Core& core_of(PyObject* object) {
  auto* const instance = reinterpret_cast<py::detail::instance*>(object);
  void* const held = instance->simple_layout ? instance->simple_value_holder[0]
                                             : instance->get_value_and_holder().value_ptr();
  return *static_cast<Core*>(held);
}

}  // namespace plain_calls
}  // namespace bindings
}  // namespace phicoll
