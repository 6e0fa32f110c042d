#include "bindings/plain_values.hpp"

#include <cstdint>
#include <cstring>

#include "bindings/free_threading.hpp"

namespace phicoll {
namespace bindings {
namespace {

// A value begins with its tag. Texts, bytes and containers go on with their length, a byte. The length of a
// text is in bytes of UTF-8.
enum Tag : unsigned char { none, yes, no, byte, integer, number, ascii, text, bytes, tuple, list, dict };

class Writer {
 public:
  Writer(unsigned char* to, std::size_t room) : begin_(to), at_(to), end_(to + room) {}
  std::size_t written() const { return static_cast<std::size_t>(at_ - begin_); }

  /// False: not plain, or no room.
  bool write(PyObject* value, int depth) {
    if (PyUnicode_CheckExact(value)) return write_text(value);
    if (PyLong_CheckExact(value)) return write_integer(value);
    if (PyFloat_CheckExact(value)) return put(number, PyFloat_AS_DOUBLE(value));
    if (value == Py_None) return put(none);
    if (PyBool_Check(value)) return put(value == Py_True ? yes : no);
    if (PyBytes_CheckExact(value))
      return put_all(bytes, PyBytes_AS_STRING(value), static_cast<std::size_t>(PyBytes_GET_SIZE(value)));
    // Another thread may change a container, where no lock keeps it out.
    if (!one_interpreter_lock || depth == 0) return false;
    if (PyTuple_CheckExact(value)) return write_items(tuple, value, PyTuple_GET_SIZE(value), depth);
    if (PyList_CheckExact(value)) return write_items(list, value, PyList_GET_SIZE(value), depth);
    return PyDict_CheckExact(value) && write_dict(value, depth);
  }

 private:
  bool put(Tag tag) {
    if (at_ == end_) return false;
    *at_++ = tag;
    return true;
  }
  template <class Value>
  bool put(Tag tag, const Value& value) {
    if (static_cast<std::size_t>(end_ - at_) < 1 + sizeof value) return false;
    *at_++ = tag;
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
    return true;
  }
  bool put_all(Tag tag, const void* from, std::size_t size) {
    if (size > UINT8_MAX || static_cast<std::size_t>(end_ - at_) < 2 + size) return false;
    *at_++ = tag;
    *at_++ = static_cast<unsigned char>(size);
    std::memcpy(at_, from, size);
    at_ += size;
    return true;
  }
  bool write_text(PyObject* value) {
    if (PyUnicode_IS_COMPACT_ASCII(value))
      return put_all(ascii, PyUnicode_1BYTE_DATA(value),
                     static_cast<std::size_t>(PyUnicode_GET_LENGTH(value)));
    Py_ssize_t length = 0;
    const char* const utf8 = PyUnicode_AsUTF8AndSize(value, &length);
    if (utf8 == nullptr) PyErr_Clear();  // half of a surrogate pair
    return utf8 != nullptr && put_all(text, utf8, static_cast<std::size_t>(length));
  }
  bool write_integer(PyObject* value) {
    int overflow = 0;
    const long long found = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) return false;
    const auto small = static_cast<signed char>(found);
    return small == found ? put(byte, small) : put(integer, found);
  }
  /// Whether it cannot stand in two places; what only its own place refers to cannot.
  bool is_first(PyObject* container) {
    if (Py_REFCNT(container) == 1) return true;
    for (int i = 0; i < seen_count_; ++i)
      if (seen_[i] == container) return false;
    if (seen_count_ == most_seen) return false;
    seen_[seen_count_++] = container;
    return true;
  }
  /// There is one empty tuple, on every rank.
  bool begin(Tag tag, PyObject* container, Py_ssize_t size) {
    return size <= UINT8_MAX && ((tag == tuple && size == 0) || is_first(container)) &&
           put(tag, static_cast<unsigned char>(size));
  }
  bool write_items(Tag tag, PyObject* container, Py_ssize_t size, int depth) {
    if (!begin(tag, container, size)) return false;
    for (Py_ssize_t i = 0; i < size; ++i)
      if (!write(tag == list ? PyList_GET_ITEM(container, i) : PyTuple_GET_ITEM(container, i), depth - 1))
        return false;
    return true;
  }
  bool write_dict(PyObject* value, int depth) {
    if (!begin(dict, value, PyDict_GET_SIZE(value))) return false;
    PyObject *key, *item;
    for (Py_ssize_t at = 0; PyDict_Next(value, &at, &key, &item) != 0;)
      if (!write(key, depth - 1) || !write(item, depth - 1)) return false;
    return true;
  }

  static constexpr int most_seen = 16;
  unsigned char* begin_;
  unsigned char* at_;
  unsigned char* end_;
  PyObject* seen_[most_seen];
  int seen_count_ = 0;
};

class Reader {
 public:
  explicit Reader(const unsigned char* from) : at_(from) {}

  /// A new reference; null with an exception set.
  PyObject* read() {
    switch (*at_++) {
      case none:
        return Py_NewRef(Py_None);
      case yes:
        return Py_NewRef(Py_True);
      case no:
        return Py_NewRef(Py_False);
      case byte:
        return PyLong_FromLong(get<signed char>());
      case integer:
        return PyLong_FromLongLong(get<long long>());
      case number:
        return PyFloat_FromDouble(get<double>());
      case ascii: {
        const Py_ssize_t size = *at_++;
        PyObject* const made = PyUnicode_New(size, 127);
        if (made != nullptr && size != 0)
          std::memcpy(PyUnicode_1BYTE_DATA(made), skip(size), static_cast<std::size_t>(size));
        return made;
      }
      case text: {
        const Py_ssize_t size = *at_++;
        return PyUnicode_DecodeUTF8(skip(size), size, nullptr);
      }
      case bytes: {
        const Py_ssize_t size = *at_++;
        return PyBytes_FromStringAndSize(skip(size), size);
      }
      case tuple: {
        const Py_ssize_t size = *at_++;
        return filled(PyTuple_New(size), size,
                      [](PyObject* to, Py_ssize_t i, PyObject* item) { PyTuple_SET_ITEM(to, i, item); });
      }
      case list: {
        const Py_ssize_t size = *at_++;
        return filled(PyList_New(size), size,
                      [](PyObject* to, Py_ssize_t i, PyObject* item) { PyList_SET_ITEM(to, i, item); });
      }
      default:
        return read_dict();
    }
  }

 private:
  template <class Value>
  Value get() {
    Value value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  const char* skip(Py_ssize_t size) {
    const auto* const from = reinterpret_cast<const char*>(at_);
    at_ += size;
    return from;
  }
  template <class Set>
  PyObject* filled(PyObject* made, Py_ssize_t size, const Set& set) {
    for (Py_ssize_t i = 0; made != nullptr && i < size; ++i) {
      PyObject* const item = read();
      if (item == nullptr)
        Py_CLEAR(made);
      else
        set(made, i, item);
    }
    return made;
  }
  PyObject* read_dict() {
    const int size = *at_++;
    PyObject* made = PyDict_New();
    for (int i = 0; made != nullptr && i < size; ++i) {
      PyObject* const key = read();
      PyObject* const item = key != nullptr ? read() : nullptr;
      if (item == nullptr || PyDict_SetItem(made, key, item) != 0) Py_CLEAR(made);
      Py_XDECREF(key);
      Py_XDECREF(item);
    }
    return made;
  }

  const unsigned char* at_;
};

}  // namespace

std::size_t write_plain(PyObject* value, unsigned char* to, std::size_t room) {
  constexpr int deepest = 8;
  Writer writer(to, room);
  return writer.write(value, deepest) ? writer.written() : 0;
}

py::object read_plain(const unsigned char* from) {
  auto made = py::reinterpret_steal<py::object>(Reader(from).read());
  if (!made) throw py::error_already_set();
  return made;
}

}  // namespace bindings
}  // namespace phicoll
