// phicoll.shmem: transfers, atomics, signals, waits and collectives. An array's dtype says which of the
// library's functions serves a call; what only moves bytes takes every dtype.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <shmem.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bindings/register.hpp"
#include "bindings/shmem_state.hpp"

namespace phicoll {
namespace bindings {
namespace {

using Use = ShmemArray::Use;
constexpr int symmetric_target = Use::write | Use::symmetric;

// Bytes from which other threads of Python need not wait for a copy.
constexpr std::size_t large_copy = 64 * 1024;

template <class F>
void copying(std::size_t bytes, F f) {
  if (bytes < large_copy) {
    f();
  } else {
    const py::gil_scoped_release released;
    f();
  }
}

/// Elements that lie `stride` apart in `array`.
std::size_t strided_count(const ShmemArray& array, std::ptrdiff_t stride) {
  return (array.count() + static_cast<std::size_t>(stride) - 1) / static_cast<std::size_t>(stride);
}

std::ptrdiff_t stride_of(const char* argument, const py::object& stride) {
  return static_cast<std::ptrdiff_t>(whole_number(argument, stride, 1, 1LL << 40));
}

// Transfers.

void put(const py::object& target, const py::object& source, const py::object& pe, const py::object& size,
         const py::object& ctx) {
  const ShmemArray to("target", target, symmetric_target), from("source", source, Use::read);
  from.check_same_type(to);
  const std::size_t bytes = element_count(size, std::min(to.count(), from.count())) * to.element_bytes();
  const int peer = pe_number("pe", pe);
  const shmem_ctx_t on = context_handle(ctx);
  copying(bytes, [&] { shmem_ctx_putmem(on, to.data(), from.data(), bytes, peer); });
}

void get(const py::object& target, const py::object& source, const py::object& pe, const py::object& size,
         const py::object& ctx) {
  const ShmemArray to("target", target, Use::write), from("source", source, Use::symmetric);
  from.check_same_type(to);
  const std::size_t bytes = element_count(size, std::min(to.count(), from.count())) * to.element_bytes();
  const int peer = pe_number("pe", pe);
  const shmem_ctx_t on = context_handle(ctx);
  copying(bytes, [&] { shmem_ctx_getmem(on, to.data(), from.data(), bytes, peer); });
}

/// iput and iget, for elements of any size.
template <class Move>
void strided(const ShmemArray& to, const ShmemArray& from, const py::object& pe, const py::object& tst,
             const py::object& sst, const py::object& size, const py::object& ctx, Move move) {
  from.check_same_type(to);
  const std::ptrdiff_t to_stride = stride_of("tst", tst), from_stride = stride_of("sst", sst);
  const std::size_t count =
      element_count(size, std::min(strided_count(to, to_stride), strided_count(from, from_stride)));
  move(context_handle(ctx), to.data(), from.data(), to_stride, from_stride, to.element_bytes(), 1, count,
       pe_number("pe", pe));
}

void iput(const py::object& target, const py::object& source, const py::object& pe, const py::object& tst,
          const py::object& sst, const py::object& size, const py::object& ctx) {
  const ShmemArray to("target", target, symmetric_target), from("source", source, Use::read);
  strided(to, from, pe, tst, sst, size, ctx, &phicoll_shmem_strided_put);
}

void iget(const py::object& target, const py::object& source, const py::object& pe, const py::object& tst,
          const py::object& sst, const py::object& size, const py::object& ctx) {
  const ShmemArray to("target", target, Use::write), from("source", source, Use::symmetric);
  strided(to, from, pe, tst, sst, size, ctx, &phicoll_shmem_strided_get);
}

// Signals.

std::uint64_t* signal_word(const py::object& signal) {
  const ShmemArray array("signal", signal, symmetric_target);
  if (!array.holds<std::uint64_t>('u'))
    throw ArgumentError("signal", "an array of " + array.type_name(),
                        "one of uint64, as new_signal makes it");
  return array.single<std::uint64_t>();
}

void put_signal(const py::object& target, const py::object& source, const py::object& pe,
                const py::object& signal, const py::object& value, const py::object& sigop,
                const py::object& size, const py::object& ctx) {
  const ShmemArray to("target", target, symmetric_target), from("source", source, Use::read);
  from.check_same_type(to);
  const std::size_t bytes = element_count(size, std::min(to.count(), from.count())) * to.element_bytes();
  const int peer = pe_number("pe", pe);
  const auto op = static_cast<int>(whole_number("sigop", sigop, SHMEM_SIGNAL_SET, SHMEM_SIGNAL_ADD));
  const auto word = number<std::uint64_t>("value", value);
  std::uint64_t* const flag = signal_word(signal);
  const shmem_ctx_t on = context_handle(ctx);
  copying(bytes, [&] { shmem_ctx_putmem_signal(on, to.data(), from.data(), bytes, flag, word, op, peer); });
}

std::uint64_t signal_fetch(const py::object& signal) {
  return shmem_signal_fetch(signal_word(signal));
}

std::uint64_t signal_wait_until(const py::object& signal, int cmp, const py::object& value) {
  std::uint64_t* const word = signal_word(signal);
  const auto wanted = number<std::uint64_t>("value", value);
  std::uint64_t seen = 0;
  shmem_wait_call([&] { seen = shmem_signal_wait_until(word, cmp, wanted); });
  return seen;
}

// Atomics. A `how` has a function of T* for each T for which OpenSHMEM has the operation.

enum class Atomic { fetch, set, inc, add, band, bor, bxor, compare_swap };

Atomic atomic_of(const std::string& name) {
  static const std::pair<const char*, Atomic> known[] = {
      {"fetch", Atomic::fetch}, {"set", Atomic::set},
      {"inc", Atomic::inc},     {"add", Atomic::add},
      {"and", Atomic::band},    {"or", Atomic::bor},
      {"xor", Atomic::bxor},    {"compare_swap", Atomic::compare_swap}};
  for (const auto& one : known)
    if (name == one.first) return one.second;
  throw ArgumentError("op", "'" + name + "'", "set, inc, add, and, or, xor");
}

void atomic(const std::string& op, const py::object& target, const py::object& value, const py::object& pe,
            const py::object& ctx) {
  const ShmemArray array("target", target, symmetric_target);
  const int peer = pe_number("pe", pe);
  const shmem_ctx_t on = context_handle(ctx);
  // f(T*, value), for the types that have it.
  const auto carry_out = [&](auto f) {
    with_type(
        array, [&]<class T>(T*) requires(std::is_invocable_v<decltype(f), T*, T>) {
          f(array.single<T>(), number<T>("value", value));
        });
  };
  switch (atomic_of(op)) {
#define PHICOLL_SHMEM_ATOMIC(how, name)                                             \
  case Atomic::how:                                                                 \
    return carry_out(                                                               \
        [&]<class T>(T * at, T with) requires requires { name(on, at, with, 0); } { \
          name(on, at, with, peer);                                                 \
        });
    PHICOLL_SHMEM_ATOMIC(set, shmem_atomic_set)
    PHICOLL_SHMEM_ATOMIC(add, shmem_atomic_add)
    PHICOLL_SHMEM_ATOMIC(band, shmem_atomic_and)
    PHICOLL_SHMEM_ATOMIC(bor, shmem_atomic_or)
    PHICOLL_SHMEM_ATOMIC(bxor, shmem_atomic_xor)
#undef PHICOLL_SHMEM_ATOMIC
    case Atomic::inc:
      return with_type(
          array, [&]<class T>(T*) requires requires(T * p) { shmem_atomic_inc(on, p, 0); } {
            shmem_atomic_inc(on, array.single<T>(), peer);
          });
    default:
      throw ArgumentError("op", "'" + op + "'", "set, inc, add, and, or, xor");
  }
}

/// What `target` held before; `cond` is compare_swap's. Into `fetch` if that is an array.
py::object fetching(const std::string& op, const py::object& fetch, const py::object& target,
                    const py::object& cond, const py::object& value, const py::object& pe,
                    const py::object& ctx) {
  const Atomic how = atomic_of(op);
  const ShmemArray array(how == Atomic::fetch ? "source" : "target", target,
                         how == Atomic::fetch ? Use::symmetric : symmetric_target);
  const int peer = pe_number("pe", pe);
  const shmem_ctx_t on = context_handle(ctx);
  py::object found = py::none();
  const auto keep = [&]<class T>(T before) {
    if (fetch.is_none()) {
      found = py::cast(before);
      return;
    }
    const ShmemArray place("fetch", fetch, Use::write);
    place.check_same_type(array);
    *place.single<T>() = before;
  };
  if (!fetch.is_none()) {  // before anything is changed
    const ShmemArray place("fetch", fetch, Use::write);
    place.check_same_type(array);
    place.single<void>();
  }
  const auto carry_out = [&](auto f) {
    with_type(
        array, [&]<class T>(T*) requires(std::is_invocable_v<decltype(f), T*, T>) {
          keep(static_cast<T>(f(array.single<T>(), number<T>("value", value))));
        });
  };
  switch (how) {
#define PHICOLL_SHMEM_WITHOUT_VALUE(how, name)                                 \
  case Atomic::how:                                                            \
    with_type(                                                                 \
        array, [&]<class T>(T*) requires requires(T * p) { name(on, p, 0); } { \
          keep(static_cast<T>(name(on, array.single<T>(), peer)));             \
        });                                                                    \
    break;
#define PHICOLL_SHMEM_WITH_VALUE(how, name)                                         \
  case Atomic::how:                                                                 \
    carry_out(                                                                      \
        [&]<class T>(T * at, T with) requires requires { name(on, at, with, 0); } { \
          return name(on, at, with, peer);                                          \
        });                                                                         \
    break;
    PHICOLL_SHMEM_WITHOUT_VALUE(fetch, shmem_atomic_fetch)
    PHICOLL_SHMEM_WITHOUT_VALUE(inc, shmem_atomic_fetch_inc)
    PHICOLL_SHMEM_WITH_VALUE(set, shmem_atomic_swap)
    PHICOLL_SHMEM_WITH_VALUE(add, shmem_atomic_fetch_add)
    PHICOLL_SHMEM_WITH_VALUE(band, shmem_atomic_fetch_and)
    PHICOLL_SHMEM_WITH_VALUE(bor, shmem_atomic_fetch_or)
    PHICOLL_SHMEM_WITH_VALUE(bxor, shmem_atomic_fetch_xor)
#undef PHICOLL_SHMEM_WITHOUT_VALUE
#undef PHICOLL_SHMEM_WITH_VALUE
    case Atomic::compare_swap:
      carry_out(
          [&]<class T>(T * at, T with) requires requires {
            shmem_atomic_compare_swap(on, at, with, with, 0);
          } { return shmem_atomic_compare_swap(on, at, number<T>("cond", cond), with, peer); });
      break;
  }
  return found;
}

// Waits and tests.

/// wait_until (waits) or test: None or whether it holds.
py::object look_at_one(bool waits, const py::object& ivar, int cmp, const py::object& value) {
  const ShmemArray array("ivar", ivar, Use::symmetric);
  py::object found = py::none();
  with_type(
      array, [&]<class T>(T*) requires requires(T * p) { shmem_test(p, 1, *p); } {
        T* const word = array.single<T>();
        const T wanted = number<T>("value", value);
        if (waits)
          shmem_wait_call([&] { shmem_wait_until(word, cmp, wanted); });
        else
          found = py::bool_(shmem_test(word, cmp, wanted) != 0);
      });
  return found;
}

py::object index_or_none(std::size_t index) {
  return index == SIZE_MAX ? py::object(py::none()) : py::object(py::int_(index));
}

/// wait_until_<how> and test_<how>; `values` is an array for the _vector forms, else one value. `status` may
/// be None.
py::object look_at_several(bool waits, const std::string& how, const py::object& ivars, int cmp,
                           const py::object& values, const py::object& status) {
  const ShmemArray array("ivars", ivars, Use::symmetric);
  const std::size_t count = array.count();
  const int* excluded = nullptr;
  if (!status.is_none()) {
    const ShmemArray mask("status", status, Use::read);
    if (!mask.holds<int>('i') || mask.count() < count)
      throw ArgumentError("status", std::to_string(mask.count()) + " of " + mask.type_name(),
                          std::to_string(count) + " of int32, one for each element of ivars");
    excluded = mask.data<const int>();
  }
  const bool vector = py::isinstance<py::array>(values);
  py::object found = py::none();
  with_type(
      array, [&]<class T>(T * words) requires requires(T * p) { shmem_test(p, 1, *p); } {
        T one{};
        T* wanted = &one;
        if (vector) {
          const ShmemArray given("values", values, Use::read);
          given.check_same_type(array);
          if (given.count() < count)
            throw ArgumentError("values", std::to_string(given.count()) + " values",
                                std::to_string(count) + ", one for each element of ivars");
          wanted = given.data<T>();
        } else {
          one = number<T>("value", values);
        }
        std::vector<std::size_t> indices(how == "some" ? count : 0);
        std::size_t result = 0;
        const auto look = [&] {
          if (how == "all") {
            if (waits)
              vector ? shmem_wait_until_all_vector(words, count, excluded, cmp, wanted)
                     : shmem_wait_until_all(words, count, excluded, cmp, one);
            else
              result =
                  static_cast<std::size_t>(vector ? shmem_test_all_vector(words, count, excluded, cmp, wanted)
                                                  : shmem_test_all(words, count, excluded, cmp, one));
          } else if (how == "any") {
            if (waits)
              result = vector ? shmem_wait_until_any_vector(words, count, excluded, cmp, wanted)
                              : shmem_wait_until_any(words, count, excluded, cmp, one);
            else
              result = vector ? shmem_test_any_vector(words, count, excluded, cmp, wanted)
                              : shmem_test_any(words, count, excluded, cmp, one);
          } else {
            if (waits)
              result = vector
                           ? shmem_wait_until_some_vector(words, count, indices.data(), excluded, cmp, wanted)
                           : shmem_wait_until_some(words, count, indices.data(), excluded, cmp, one);
            else
              result = vector ? shmem_test_some_vector(words, count, indices.data(), excluded, cmp, wanted)
                              : shmem_test_some(words, count, indices.data(), excluded, cmp, one);
          }
        };
        if (waits)
          shmem_wait_call(look);
        else
          look();
        if (how == "any") {
          found = index_or_none(result);
        } else if (how == "some") {
          py::list some;
          for (std::size_t i = 0; i < result; ++i) some.append(indices[i]);
          found = some;
        } else if (!waits) {
          found = py::bool_(result != 0);
        }
      });
  return found;
}

// Collectives.

/// The two arrays of a collective, and the team.
struct Pair {
  ShmemArray to, from;
  shmem_team_t team;
  std::size_t pes;
  Pair(const py::object& target, const py::object& source, const py::object& team_object)
      : to("target", target, symmetric_target),
        from("source", source, Use::symmetric),
        team(team_handle(team_object)) {
    from.check_same_type(to);
    const int size = shmem_team_n_pes(team);
    if (size < 0) throw ArgumentError("team", "TEAM_INVALID", "a team");
    pes = static_cast<std::size_t>(size);
  }
  /// What a call writes, in elements from the start of `target`, and what it reads of `source` are apart, or
  /// in place the same.
  void check_apart(std::size_t written, std::size_t read, bool in_place) const {
    const void* const target = to.data();
    const void* const source = from.data();
    const std::size_t element = to.element_bytes();
    if (written == 0 || read == 0 || (in_place && target == source) ||
        !ranges_meet(target, written * element, source, read * element))
      return;
    throw ArgumentError(
        "target", "memory that overlaps with source",
        in_place ? "arrays apart from each other, or the same" : "arrays apart from each other");
  }
};

void check_room(const char* argument, std::size_t has, std::size_t wanted) {
  if (has < wanted)
    throw ArgumentError(argument, "an array of " + std::to_string(has) + " elements",
                        "one of " + std::to_string(wanted) + " at least");
}

void check_status(int status) {
  if (status != 0) throw Error("the library gave status " + std::to_string(status));
}

void barrier_all() {
  shmem_collective(SHMEM_TEAM_WORLD, 0, [] { shmem_barrier_all(); });
}

void sync(const py::object& team) {
  const shmem_team_t of = team_handle(team);
  if (of == SHMEM_TEAM_INVALID) throw ArgumentError("team", "TEAM_INVALID", "a team");
  shmem_collective(of, 0, [&] { check_status(shmem_team_sync(of)); });
}

void broadcast(const py::object& target, const py::object& source, const py::object& root,
               const py::object& size, const py::object& team) {
  const Pair pair(target, source, team);
  const std::size_t count = element_count(size, std::min(pair.to.count(), pair.from.count()));
  const std::size_t bytes = count * pair.to.element_bytes();
  pair.check_apart(count, count, true);
  const auto pe = static_cast<int>(whole_number("root", root, 0, static_cast<long long>(pair.pes) - 1));
  shmem_collective(pair.team, bytes, [&] {
    check_status(shmem_broadcastmem(pair.team, pair.to.data(), pair.from.data(), bytes, pe));
  });
}

void collect(const py::object& target, const py::object& source, const py::object& size,
             const py::object& team) {
  const Pair pair(target, source, team);
  const std::size_t mine = element_count(size, pair.from.count());
  const std::size_t element = pair.to.element_bytes();
  pair.check_apart(pair.to.count(), mine, false);  // how much is written depends on all PEs
  shmem_collective(pair.team, mine * element, [&] {
    // All PEs see alike whether one has too little room.
    const std::size_t own[2] = {mine, pair.to.count()};
    std::vector<std::size_t> all(2 * pair.pes);
    shmem::communicator(pair.team).allgather(own, all.data(), sizeof own);
    std::size_t together = 0, room = all[1];
    for (std::size_t pe = 0; pe < pair.pes; ++pe) {
      together += all[2 * pe];
      room = std::min(room, all[2 * pe + 1]);
    }
    check_room("target", room, together);
    check_status(shmem_collectmem(pair.team, pair.to.data(), pair.from.data(), mine * element));
  });
}

void fcollect(const py::object& target, const py::object& source, const py::object& size,
              const py::object& team) {
  const Pair pair(target, source, team);
  const std::size_t mine = element_count(size, pair.from.count());
  check_room("target", pair.to.count(), mine * pair.pes);
  pair.check_apart(mine * pair.pes, mine, false);
  const std::size_t bytes = mine * pair.to.element_bytes();
  shmem_collective(pair.team, bytes, [&] {
    check_status(shmem_fcollectmem(pair.team, pair.to.data(), pair.from.data(), bytes));
  });
}

/// Elements for each PE: `size`, or what the arrays hold.
std::size_t block_elements(const Pair& pair, const py::object& size, std::ptrdiff_t tst, std::ptrdiff_t sst) {
  const std::size_t most = std::min(strided_count(pair.to, tst), strided_count(pair.from, sst));
  if (size.is_none() && most % pair.pes != 0)
    throw ArgumentError("size", "None, with arrays of " + std::to_string(most) + " elements",
                        "a size, or arrays of a multiple of " + std::to_string(pair.pes) + " elements");
  return element_count(size, most / pair.pes);
}

void alltoall(const py::object& target, const py::object& source, const py::object& size,
              const py::object& team) {
  const Pair pair(target, source, team);
  const std::size_t count = block_elements(pair, size, 1, 1), bytes = count * pair.to.element_bytes();
  pair.check_apart(count * pair.pes, count * pair.pes, false);
  shmem_collective(pair.team, bytes, [&] {
    check_status(shmem_alltoallmem(pair.team, pair.to.data(), pair.from.data(), bytes));
  });
}

/// As elements of the same size, which is all that alltoalls looks at.
template <class T>
void alltoalls_as(const Pair& pair, std::ptrdiff_t tst, std::ptrdiff_t sst, std::size_t count) {
  shmem_collective(pair.team, count * sizeof(T), [&] {
    check_status(shmem_alltoalls(pair.team, pair.to.data<T>(), pair.from.data<const T>(), tst, sst, count));
  });
}

void alltoalls(const py::object& target, const py::object& source, const py::object& tst,
               const py::object& sst, const py::object& size, const py::object& team) {
  const Pair pair(target, source, team);
  const std::ptrdiff_t to_stride = stride_of("tst", tst), from_stride = stride_of("sst", sst);
  const std::size_t count = block_elements(pair, size, to_stride, from_stride);
  if (count != 0) {
    const std::size_t last = count * pair.pes - 1;
    pair.check_apart(last * static_cast<std::size_t>(to_stride) + 1,
                     last * static_cast<std::size_t>(from_stride) + 1, false);
  }
  switch (pair.to.element_bytes()) {
    case 1:
      return alltoalls_as<signed char>(pair, to_stride, from_stride, count);
    case 2:
      return alltoalls_as<short>(pair, to_stride, from_stride, count);
    case 4:
      return alltoalls_as<int>(pair, to_stride, from_stride, count);
    case 8:
      return alltoalls_as<long>(pair, to_stride, from_stride, count);
    case 16:
      return alltoalls_as<long double>(pair, to_stride, from_stride, count);
    default:
      throw ArgumentError("source", "an array of " + pair.from.type_name(),
                          "elements of 1, 2, 4, 8 or 16 bytes");
  }
}

void reduce(const std::string& op, const py::object& target, const py::object& source, const py::object& size,
            const py::object& team) {
  const Pair pair(target, source, team);
  const std::size_t count = element_count(size, std::min(pair.to.count(), pair.from.count()));
  pair.check_apart(count, count, true);
  const shmem_team_t of = pair.team;
  // f(dest, source), for the types that have it.
  const auto carry_out = [&](auto f) {
    with_type(
        pair.from, [&]<class T>(T * from) requires(std::is_invocable_v<decltype(f), T*, T*>) {
          shmem_collective(of, count * sizeof(T), [&] { check_status(f(pair.to.data<T>(), from)); });
        });
  };
#define PHICOLL_SHMEM_REDUCE(op_name, name)                                               \
  if (op == op_name)                                                                      \
    return carry_out(                                                                     \
        [&]<class T>(T * to, T * from) requires requires { name(of, to, from, count); } { \
          return name(of, to, from, count);                                               \
        });
  PHICOLL_SHMEM_REDUCE("sum", shmem_sum_reduce)
  PHICOLL_SHMEM_REDUCE("prod", shmem_prod_reduce)
  PHICOLL_SHMEM_REDUCE("min", shmem_min_reduce)
  PHICOLL_SHMEM_REDUCE("max", shmem_max_reduce)
  PHICOLL_SHMEM_REDUCE("and", shmem_and_reduce)
  PHICOLL_SHMEM_REDUCE("or", shmem_or_reduce)
  PHICOLL_SHMEM_REDUCE("xor", shmem_xor_reduce)
#undef PHICOLL_SHMEM_REDUCE
  throw ArgumentError("op", "'" + op + "'", "and, or, xor, max, min, sum, prod");
}

}  // namespace

void register_shmem_calls(py::module_& module) {
  module.def("shmem_put", &put);
  module.def("shmem_get", &get);
  module.def("shmem_iput", &iput);
  module.def("shmem_iget", &iget);
  module.def("shmem_put_signal", &put_signal);
  module.def("shmem_signal_fetch", &signal_fetch);
  module.def("shmem_signal_wait_until", &signal_wait_until);
  module.def("shmem_atomic", &atomic);
  module.def("shmem_atomic_fetching", &fetching);
  module.def("shmem_look_at_one", &look_at_one);
  module.def("shmem_look_at_several", &look_at_several);
  module.def("shmem_barrier_all", &barrier_all);
  module.def("shmem_sync", &sync);
  module.def("shmem_broadcast", &broadcast);
  module.def("shmem_collect", &collect);
  module.def("shmem_fcollect", &fcollect);
  module.def("shmem_alltoall", &alltoall);
  module.def("shmem_alltoalls", &alltoalls);
  module.def("shmem_reduce", &reduce);
}

}  // namespace bindings
}  // namespace phicoll
