#include "bindings/plain_arguments.hpp"

#include <structmember.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <string>

namespace phicoll {
namespace bindings {
namespace plain_calls {
namespace {

constexpr const char* parameter_names[parameters] = {
    "buf",  "sendbuf", "recvbuf", "obj",     "sendobj", "recvcounts", "op",   "root",
    "dest", "source",  "tag",     "sendtag", "recvtag", "status",     "info", "algorithm"};

/// The dtype of a buffer's format of one character.
struct Format {
  PyObject* dtype = nullptr;
  char character = 0;

  void drop() { Py_XDECREF(dtype); }
};

/// One of MPI's operators on a dtype.
struct Reduction {
  PyObject* op = nullptr;
  PyObject* dtype = nullptr;
  PyObject* handle = nullptr;
  const OperatorHandle* core = nullptr;

  void drop() {
    Py_XDECREF(op);
    Py_XDECREF(dtype);
    Py_XDECREF(handle);
  }
};

/// The most recent of a few, whose references it keeps.
template <class Entry, std::size_t most>
class Recent {
 public:
  Recent() = default;
  ~Recent() {
    if (!one_interpreter_lock)  // the table of a thread that ends
      for (Entry& entry : entries_) entry.drop();
  }
  Recent(const Recent&) = delete;
  Recent& operator=(const Recent&) = delete;

  template <class Wanted>
  const Entry* find(Wanted&& wanted) const {
    for (std::size_t i = 0; i < count_; ++i)
      if (wanted(entries_[i])) return &entries_[i];
    return nullptr;
  }
  /// The entry, with its references, in place of the oldest one.
  const Entry& keep(const Entry& entry) {
    Entry& place = entries_[next_];
    next_ = (next_ + 1) % most;
    if (count_ < most) ++count_;
    Entry before = std::exchange(place, entry);
    before.drop();
    return place;
  }

 private:
  std::array<Entry, most> entries_{};
  std::size_t count_ = 0;
  std::size_t next_ = 0;
};

using RecentElements = Recent<Element, 16>;

[[gnu::noinline]] Element looked_up(PyObject* dtype, RecentElements& recent) {
  const auto type = py::reinterpret_borrow<py::dtype>(dtype);
  if (type.itemsize() <= 0 || py::bool_(type.attr("hasobject"))) return Element();
  const auto number = py::reinterpret_borrow<py::function>(Known::get().type_number)(type).cast<unsigned>();
  return recent.keep({type.inc_ref().ptr(), static_cast<std::size_t>(type.itemsize()), number});
}

/// The element type; without a dtype if it is not plain: one with objects in it, or of no bytes.
inline Element element_of(PyObject* dtype) {
  auto& recent = own_table<RecentElements, Element>();
  const Element* const found = recent.find([&](const Element& e) { return e.dtype == dtype; });
  return found != nullptr ? *found : looked_up(dtype, recent);
}

/// The element type of one of MPI's datatypes; likewise.
Element element_of_type(PyObject* datatype) {
  if (Py_TYPE(datatype) != Known::get().datatype) return Element();
  const auto dtype = py::reinterpret_steal<py::object>(PyObject_GetAttr(datatype, Known::get().dtype));
  if (!dtype) throw py::error_already_set();
  return element_of(dtype.ptr());
}

/// The element type of a buffer; likewise, if its format is not one of C's numbers in the machine's own
/// order.
Element element_of_format(const char* format) {
  if (format == nullptr) format = "B";
  if (format[0] == 0 || format[1] != 0 || std::strchr("bBhHiIlLqQfdg?", format[0]) == nullptr)
    return Element();
  auto& recent = own_table<Recent<Format, 16>, Format>();
  const Format* found = recent.find([&](const Format& f) { return f.character == *format; });
  if (found == nullptr) found = &recent.keep({py::dtype(std::string(format)).release().ptr(), *format});
  return element_of(found->dtype);
}

}  // namespace

const Known& Known::first() {
  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<Known> known;
  const Known& found = known.call_once_and_store_result(&look_up).get_stored();
  found_.store(&found, std::memory_order_release);
  return found;
}

Known Known::look_up() {
  const auto kept = [](const py::object& object) { return py::object(object).release().ptr(); };
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  const py::module_ buffers = py::module_::import("phicoll.comm.buffers");
  const py::module_ operators = py::module_::import("phicoll.comm.operators");
  const py::module_ datatypes = py::module_::import("phicoll.comm.datatypes");
  const py::module_ requests = py::module_::import("phicoll.comm.requests");
  const py::module_ numbers = py::module_::import("phicoll.comm.numbers");
  Known known;
  const py::object comm = py::module_::import("phicoll.comm.communicator").attr("Comm");
  const py::object slot = comm.attr("_core");
  if (Py_TYPE(slot.ptr()) != &PyMemberDescr_Type) throw Error("Comm has no slot of its core");
  known.comm = reinterpret_cast<PyTypeObject*>(kept(comm));
  known.core_slot = reinterpret_cast<PyMemberDescrObject*>(slot.ptr())->d_member->offset;
  known.array = py::detail::npy_api::get().PyArray_Type_;
  known.communicator = reinterpret_cast<PyTypeObject*>(py::type::of<CommunicatorHandle>().ptr());
  known.begun = reinterpret_cast<PyTypeObject*>(py::type::of<BegunHandle>().ptr());
  known.persistent_message = reinterpret_cast<PyTypeObject*>(py::type::of<PersistentMessage>().ptr());
  known.request = reinterpret_cast<PyTypeObject*>(kept(requests.attr("Request")));
  known.prequest = reinterpret_cast<PyTypeObject*>(kept(requests.attr("Prequest")));
  known.status = reinterpret_cast<PyTypeObject*>(kept(requests.attr("Status")));
  known.datatype = reinterpret_cast<PyTypeObject*>(kept(datatypes.attr("Datatype")));
  known.ended = kept(py::cast(std::make_shared<BegunHandle>()));
  known.core = name("_core");
  known.dtype = name("dtype");
  known.tell = name("_tell");
  known.cancelled = name("cancelled");
  for (int i = 0; i < parameters; ++i) known.names[i] = name(parameter_names[i]);
  known.in_place = kept(buffers.attr("IN_PLACE"));
  known.sum = kept(operators.attr("OPERATORS")["SUM"]);
  known.type_number = kept(datatypes.attr("type_number"));
  known.core_operator = kept(operators.attr("core_operator"));
  known.block = kept(buffers.attr("block"));
  known.blocks_of = kept(buffers.attr("blocks_of"));
  known.typed_blocks = kept(buffers.attr("typed_blocks"));
  known.same_kind = kept(buffers.attr("same_kind"));
  known.refuse_overlap = kept(buffers.attr("refuse_overlap"));
  known.root_of = kept(numbers.attr("root_of"));
  known.whole_counts = kept(numbers.attr("whole_counts"));
  known.rank_or_tag = kept(numbers.attr("rank_or_tag"));
  known.check_status = kept(requests.attr("check_status"));
  known.check_room = kept(buffers.attr("check_room"));
  known.refuse_shared = kept(buffers.attr("refuse_shared"));
  return known;
}

Signature Signature::of(const py::function& function) {
  const py::object code = function.attr("__code__"), defaults = function.attr("__defaults__");
  Signature found;
  found.positional = code.attr("co_argcount").cast<std::size_t>() - 1;
  found.required = found.positional - (defaults.is_none() ? 0 : py::len(defaults));
  const std::size_t all = found.positional + code.attr("co_kwonlyargcount").cast<std::size_t>();
  const py::tuple names = code.attr("co_varnames");
  for (; found.taken < all; ++found.taken) {
    const auto name = names[found.taken + 1].cast<std::string>();  // after the communicator
    const auto* const known = std::find(std::begin(parameter_names), std::end(parameter_names), name);
    if (known == std::end(parameter_names) || found.taken == found.takes.size())
      throw ArgumentError("function", "the parameter " + name, "one that phicoll._core knows");
    found.takes[found.taken] = static_cast<Parameter>(known - parameter_names);
  }
  return found;
}

// Names are interned, unless a program made them.
PyObject** BoundArguments::place_of(PyObject* name, const Signature& signature) {
  const Known& known = Known::get();
  for (std::size_t p = 0; p < signature.taken; ++p)
    if (name == known.names[signature.takes[p]]) return &value[signature.takes[p]];
  for (std::size_t p = 0; p < signature.taken; ++p)
    if (PyUnicode_Compare(name, known.names[signature.takes[p]]) == 0) return &value[signature.takes[p]];
  return nullptr;
}

int BoundArguments::root_of(int size) const {
  PyObject* const object = value[root_parameter];
  const int found = object == nullptr ? 0 : whole_number(object, size);
  return found >= 0 ? found : py::handle(Known::get().root_of)(size, py::handle(object)).cast<int>();
}

int BoundArguments::number(Parameter parameter, int otherwise) const {
  PyObject* const object = value[parameter];
  if (object == nullptr) return otherwise;
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const long found = PyLong_AsLongAndOverflow(object, &overflow);
    if (overflow == 0 && found == static_cast<int>(found)) return static_cast<int>(found);
  }
  const Known& known = Known::get();
  return py::handle(known.rank_or_tag)(py::handle(known.names[parameter]), py::handle(object)).cast<int>();
}

py::object BoundArguments::again(const char* method) const {
  const Known& known = Known::get();
  py::dict named;
  for (int parameter = 0; parameter < parameters; ++parameter)
    if (value[parameter] != nullptr && parameter != info_parameter)
      named[known.names[parameter]] = py::handle(value[parameter]);
  const py::object called = py::handle(reinterpret_cast<PyObject*>(known.comm)).attr(method);
  return py::module_::import("functools").attr("partial")(called, py::handle(self), **named);
}

void CoreOperator::find(PyObject* op, PyObject* dtype) {
  auto& recent = own_table<Recent<Reduction, 32>, Reduction>();
  const Reduction* found = recent.find([&](const Reduction& r) { return r.op == op && r.dtype == dtype; });
  if (found == nullptr) {
    const auto given = py::reinterpret_borrow<py::object>(op);
    const auto type = py::reinterpret_borrow<py::dtype>(dtype);
    py::object handle = py::reinterpret_borrow<py::function>(Known::get().core_operator)(given, type);
    const auto* const core = handle.cast<const OperatorHandle*>();
    if (!py::bool_(py::getattr(given, "is_predefined", py::bool_(false)))) {  // may be freed
      kept_ = std::move(handle);
      core_ = core;
      return;
    }
    found = &recent.keep({given.inc_ref().ptr(), type.inc_ref().ptr(), handle.release().ptr(), core});
  }
  kept_ = py::reinterpret_borrow<py::object>(found->handle);
  core_ = found->core;
}

bool plain_status(PyObject* status) {
  return status == nullptr || status == Py_None || Py_TYPE(status) == Known::get().status;
}

void tell(PyObject* status, const Envelope& envelope) {
  if (status == nullptr || status == Py_None) return;
  const py::int_ source(envelope.source), tag(envelope.tag), bytes(envelope.bytes);
  PyObject* const arguments[] = {status, source.ptr(), tag.ptr(), bytes.ptr()};
  const auto told =
      py::reinterpret_steal<py::object>(PyObject_VectorcallMethod(Known::get().tell, arguments, 4, nullptr));
  if (!told) throw py::error_already_set();
}

py::tuple items_of(PyObject* given) {
  if (!PyList_CheckExact(given) && !PyTuple_CheckExact(given))
    return py::reinterpret_steal<py::tuple>(nullptr);
  auto items = py::reinterpret_steal<py::tuple>(PySequence_Tuple(given));
  if (!items) throw py::error_already_set();
  return items;
}

int whole_number(PyObject* object, long bound) {
  if (!PyLong_CheckExact(object)) return -1;
  int overflow = 0;
  const long found = PyLong_AsLongAndOverflow(object, &overflow);
  return overflow == 0 && found >= 0 && found < bound ? static_cast<int>(found) : -1;
}

bool read_numbers(PyObject* given, std::size_t ranks, RankNumbers& numbers) {
  numbers.resize(ranks);
  if (PyList_CheckExact(given) || PyTuple_CheckExact(given)) {
    const Critical own(given);
    if (static_cast<std::size_t>(PySequence_Fast_GET_SIZE(given)) != ranks) return false;
    for (std::size_t i = 0; i < ranks; ++i) {
      const int number = whole_number(PySequence_Fast_ITEMS(given)[i], INT32_MAX);
      if (number < 0) return false;
      numbers[i] = static_cast<std::size_t>(number);
    }
    return true;
  }
  if (Py_TYPE(given) != Known::get().array) return false;
  const auto* const array = py::detail::array_proxy(given);
  if (array->nd != 1 || static_cast<std::size_t>(array->dimensions[0]) != ranks ||
      (array->flags & py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_) == 0)
    return false;
  const auto type = py::reinterpret_borrow<py::dtype>(array->descr);
  const bool small = type.num() == py::detail::npy_api::NPY_INT_;
  if ((!small && type.num() != py::detail::npy_api::NPY_LONG_) || type.byteorder() == '>') return false;
  for (std::size_t i = 0; i < ranks; ++i) {
    const long number =
        small ? reinterpret_cast<const int*>(array->data)[i] : reinterpret_cast<const long*>(array->data)[i];
    if (number < 0 || number > INT32_MAX) return false;
    numbers[i] = static_cast<std::size_t>(number);
  }
  return true;
}

OpenBuffer::OpenBuffer(const BoundArguments& arguments, PyObject* object, bool writable) {
  if (Py_TYPE(object) == Known::get().array) {
    Plain all;
    all.read_array(arguments, object, writable);
    element = all.element;
    data = all.data;
    bytes = all.bytes();
    return;
  }
  if (PyObject_CheckBuffer(object) == 0) return;
  auto view = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(object));
  if (!view) {
    PyErr_Clear();
    return;
  }
  const Py_buffer* const buffer = PyMemoryView_GET_BUFFER(view.ptr());
  if ((writable && buffer->readonly != 0) || PyBuffer_IsContiguous(buffer, 'C') == 0) return;
  element = element_of_format(buffer->format);
  data = static_cast<unsigned char*>(buffer->buf);
  bytes = static_cast<std::size_t>(buffer->len);
  arguments.keep(std::move(view));
}

void Plain::read_array(const BoundArguments& arguments, PyObject* array, bool writable) {
  const auto* const fields = py::detail::array_proxy(array);
  const int wanted = py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_ |
                     (writable ? py::detail::npy_api::NPY_ARRAY_WRITEABLE_ : 0);
  if ((fields->flags & wanted) != wanted) return;
  element = element_of(fields->descr);
  if (element.dtype == nullptr) return;
  count = 1;
  for (int i = 0; i < fields->nd; ++i) count *= static_cast<std::size_t>(fields->dimensions[i]);
  data = reinterpret_cast<unsigned char*>(fields->data);
  arguments.keep(py::reinterpret_borrow<py::object>(array));
}

void Plain::read(const BoundArguments& arguments, PyObject* spec, bool writable, int blocks) {
  if (Py_TYPE(spec) == Known::get().array) {
    read_array(arguments, spec, writable);
    return;
  }
  const py::tuple item = items_of(spec);
  if (!item) {
    const OpenBuffer buffer(arguments, spec, writable);
    if (buffer.element.dtype == nullptr) return;
    element = buffer.element;
    data = buffer.data;
    count = buffer.bytes / element.bytes;
    return;
  }
  arguments.keep(item);
  const auto items = static_cast<std::size_t>(PyTuple_GET_SIZE(item.ptr()));
  if (items != 2 && items != 3) return;
  const OpenBuffer buffer(arguments, PyTuple_GET_ITEM(item.ptr(), 0), writable);
  if (buffer.bytes == 0) return;
  element = element_of_type(PyTuple_GET_ITEM(item.ptr(), static_cast<Py_ssize_t>(items - 1)));
  if (element.dtype == nullptr) return;
  data = buffer.data;
  if (items == 2) {
    if (buffer.bytes % element.bytes == 0) count = buffer.bytes / element.bytes;
    return;
  }
  const int each = whole_number(PyTuple_GET_ITEM(item.ptr(), 1), INT32_MAX);
  const std::size_t all = each < 0 ? 0 : static_cast<std::size_t>(each) * static_cast<std::size_t>(blocks);
  if (all <= buffer.bytes / element.bytes) count = all;
}

void PlainBlocks::read(const BoundArguments& arguments, PyObject* spec, bool writable, int ranks) {
  const py::tuple item = items_of(spec);
  if (!item) return;
  arguments.keep(item);
  const std::size_t items = item.size();
  if (items < 2 || items > 4) return;
  const auto at = [&item](std::size_t i) { return PyTuple_GET_ITEM(item.ptr(), static_cast<Py_ssize_t>(i)); };
  PyObject* const type = items == 2 ? nullptr : at(items - 1);
  PyObject* given = at(1);
  PyObject* strides = items == 4 ? at(2) : nullptr;
  if (items < 4 && PyTuple_CheckExact(given)) {  // counts and displacements
    if (PyTuple_GET_SIZE(given) != 2) return;
    strides = PyTuple_GET_ITEM(at(1), 1);
    given = PyTuple_GET_ITEM(at(1), 0);
  }
  const OpenBuffer buffer(arguments, at(0), writable);
  if (buffer.bytes == 0) return;
  element = type == nullptr ? buffer.element : element_of_type(type);
  if (element.dtype == nullptr) return;
  const auto n = static_cast<std::size_t>(ranks);
  const bool adjacent = strides == nullptr || strides == Py_None;
  if (!read_numbers(given, n, counts) || (!adjacent && !read_numbers(strides, n, displacements)))
    return counts.clear();
  if (adjacent) {
    displacements.resize(n);
    std::exclusive_scan(counts.begin(), counts.end(), displacements.data(), std::size_t{0});
  }
  for (std::size_t i = 0; i < n; ++i) {
    counts[i] *= element.bytes;
    displacements[i] *= element.bytes;
  }
  find_end();
  if (end > buffer.bytes) counts.clear();
  data = buffer.data;
}

void PlainBlocks::find_end() {
  end = 0;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0) end = std::max(end, displacements[i] + counts[i]);
}

std::size_t PlainBlocks::bytes() const {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

}  // namespace plain_calls
}  // namespace bindings
}  // namespace phicoll
