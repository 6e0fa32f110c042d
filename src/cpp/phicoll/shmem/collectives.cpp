// Collectives on teams and on active sets: each is the team's communicator's, by `auto` or what
// PHICOLL_ALLREDUCE and the like choose. Buffers in symmetric memory are passed as the group knows them, so
// that algorithms read them where they lie.

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "phicoll/collectives/contract/request.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/shmem/world.hpp"

namespace phicoll {
namespace shmem {

namespace {

constexpr Type integer_type(std::size_t bytes, bool is_signed) {
  return bytes == 1   ? (is_signed ? Type::int8 : Type::uint8)
         : bytes == 2 ? (is_signed ? Type::int16 : Type::uint16)
         : bytes == 4 ? (is_signed ? Type::int32 : Type::uint32)
                      : (is_signed ? Type::int64 : Type::uint64);
}

template <class T>
struct Elements {
  static Operator with(Op op) { return find_operator(integer_type(sizeof(T), std::is_signed<T>::value), op); }
};
template <>
struct Elements<float> {
  static Operator with(Op op) { return find_operator(Type::float32, op); }
};
template <>
struct Elements<double> {
  static Operator with(Op op) { return find_operator(Type::float64, op); }
};
template <>
struct Elements<phicoll_shmem_complexf> {
  static Operator with(Op op) { return find_operator(Type::complex64, op); }
};
template <>
struct Elements<phicoll_shmem_complexd> {
  static Operator with(Op op) { return find_operator(Type::complex128, op); }
};

// No type of the group's operators: an operator of our own.
template <Op op>
void combine_long_double(void*, void* to, const void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    long double a, b;
    std::memcpy(&a, static_cast<const char*>(left) + i * sizeof a, sizeof a);
    std::memcpy(&b, static_cast<const char*>(right) + i * sizeof b, sizeof b);
    const long double result = op == Op::sum    ? a + b
                               : op == Op::prod ? a * b
                               : op == Op::min  ? (b < a ? b : a)
                                                : (a < b ? b : a);
    std::memcpy(static_cast<char*>(to) + i * sizeof result, &result, sizeof result);
  }
}
template <>
struct Elements<long double> {
  static Operator with(Op op) {
    constexpr std::uint32_t bytes = sizeof(long double);
    switch (op) {
      case Op::sum:
        return user_operator(bytes, true, combine_long_double<Op::sum>, nullptr);
      case Op::prod:
        return user_operator(bytes, true, combine_long_double<Op::prod>, nullptr);
      case Op::min:
        return user_operator(bytes, true, combine_long_double<Op::min>, nullptr);
      default:
        return user_operator(bytes, true, combine_long_double<Op::max>, nullptr);
    }
  }
};

/// Calls f(the team's communicator), and returns the C function's status.
template <class F>
int on_team(const char* function, shmem_team_t team, F f) {
  return guarded(function, [&] {
    f(team_of(team));
    return 0;
  });
}
template <class F>
void on_active_set(const char* function, int start, int log_stride, int size, F f) {
  guarded(function, [&] { f(world().active_set(start, log_stride, size)); });
}

// What refuses an argument is apart, so that a small call saves no registers for it.
[[gnu::cold, gnu::noinline]] void check_where(const char* argument, const void* address, std::size_t bytes) {
  if (bytes != 0 && world().where(address, bytes) == World::Where::nowhere)
    throw ArgumentError(argument, std::to_string(bytes) + " bytes that are not symmetric",
                        "memory of shmem_malloc, and globals and statics of the program");
}
/// In checked mode.
inline void check_symmetric(const char* argument, const void* address, std::size_t bytes) {
  if (__builtin_expect(world().checks(), 0)) check_where(argument, address, bytes);
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_overlap(bool in_place) {
  throw ArgumentError("dest", "memory that overlaps with source",
                      in_place ? "memory apart from it, or the same" : "memory apart from it");
}
/// Throws for memory that overlaps and is not, where that may be, the same: before the group knows of the
/// call.
[[gnu::always_inline]] inline void check_apart(bool counted, const Request& request,
                                               const request_rules::Extent& extent, bool in_place) {
  if (in_place && request.send == request.receive) return;
  if (__builtin_expect(request_rules::overlap(counted, request, extent), 0)) refuse_overlap(in_place);
}
/// Of calls whose request has only one of the two, or whose elements lie apart.
inline void check_apart(const void* dest, std::size_t written, const void* source, std::size_t read,
                        bool in_place) {
  Request both;
  both.send = source;
  both.receive = const_cast<void*>(dest);
  request_rules::Extent extent;
  extent.sent = read;
  extent.received = written;
  check_apart(true, both, extent, in_place);
}

/// A request with the program's addresses, as the group knows them. Throws for wrong ones; nothing has been
/// entered yet, so the group goes on. Only the same memory is in place, and only in reductions.
template <Operation operation, bool counted = false>
[[gnu::always_inline]] inline Request checked(const Team& team, Request request) {
  constexpr const OperationRow& row = row_of(operation);
  const request_rules::Extent extent =
      request_rules::extent_of(row, counted, request, true, team.comm->rank(), team.size());
  check_symmetric("source", request.send, extent.sent);
  check_symmetric("dest", request.receive, extent.received);
  check_apart(counted, request, extent, row.reduces);
  const bool in_place = row.reduces && request.send == request.receive;
  request.send = in_place ? nullptr : world().as_group_memory(request.send);
  request.receive = world().as_group_memory(request.receive);
  return request;
}

/// Looked up once, since that takes a tenth of a small reduction's time.
template <class T, Op op>
const Operator& operator_of() {
  static const Operator found = Elements<T>::with(op);
  return found;
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_count(int nreduce) {
  throw ArgumentError("nreduce", std::to_string(nreduce), "0 or more");
}
/// Functions on active sets take an int for it.
inline std::size_t checked_count(int nreduce) {
  if (__builtin_expect(nreduce < 0, 0)) refuse_count(nreduce);
  return static_cast<std::size_t>(nreduce);
}

/// An allreduce, or a scan. The first PE's result of an exclusive scan is zero here.
template <Op op, Operation operation = Operation::allreduce, bool exclusive = false, class T>
void reduce(Team& team, T* dest, const T* source, std::size_t count) {
  Request request = Request::allreduce(source, dest, count, operator_of<T, op>());
  request.operation = operation;
  request.exclusive = exclusive;
  team.comm->call(checked<operation>(team, request));
  if (exclusive && team.comm->rank() == 0)
    for (std::size_t i = 0; i < count; ++i) dest[i] = T();
}

// Between two PEs, 256 bytes to 2 KB are put straight into the destination, which must be ready on all PEs
// before any of them calls: one copy instead of two. The announcement, a word on the
// communicator, follows. It orders the puts before the receiver's reads, detects PEs in other calls, and
// tells where the data was put: differing places or sizes are an error, and data for private memory goes by
// the communicator. From 4 KB on, lines that their reader has just read lose to cells where CPUs are far
// apart; more PEs gain nothing.
constexpr std::size_t least_put = 256;
constexpr std::size_t most_put = 2048;

bool puts(Team& team, Operation operation, std::size_t bytes) {
  return bytes >= least_put && bytes <= most_put && team.size() == 2 &&
         team.comm->collectives().by_rules(operation);
}

constexpr unsigned size_bits = 16;
static_assert(2 * most_put < 1u << size_bits, "a size fits into an announcement");
/// Of a result of `bytes` at `dest`; 0: nothing is put there.
std::uint64_t announcement(const void* dest, std::size_t bytes) {
  const std::uint64_t place = world().place_of(dest, bytes);
  return place == 0 ? 0 : place << size_bits | bytes;
}

[[noreturn]] void refuse_announced(std::uint64_t theirs, std::uint64_t own) {
  constexpr std::uint64_t sizes = (1u << size_bits) - 1;
  if (own != 0 && (theirs & sizes) != (own & sizes))
    throw ArgumentError("nelems",
                        "a result of " + std::to_string(own & sizes) + " bytes here and of " +
                            std::to_string(theirs & sizes) + " on the other PE",
                        "the same on all PEs");
  throw ArgumentError("dest", "memory other than on the other PE", "the same symmetric object on all PEs");
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_root(int root, int size) {
  throw ArgumentError("PE_root", std::to_string(root), "0.." + std::to_string(size - 1));
}

/// `all`: the root's destination is written too, as on teams but not on active sets.
void broadcast(Team& team, void* dest, const void* source, std::size_t bytes, int root, bool all) {
  if (__builtin_expect(root < 0 || root >= team.size(), 0)) refuse_root(root, team.size());
  World& of = world();
  const int me = team.comm->rank();
  const bool mine = me == root;
  check_symmetric("source", source, bytes);
  check_symmetric("dest", dest, bytes);
  check_apart(dest, bytes, source, bytes, true);
  bool done = false;
  if (puts(team, Operation::broadcast, bytes)) {
    const std::uint64_t own = announcement(dest, bytes);
    std::uint64_t announced = own;
    if (mine && own != 0) phicoll_shmem_copy(team.at(dest, 1 - me), source, bytes);
    team.comm->broadcast(&announced, sizeof announced, root, nullptr, announcing_type);
    done = announced != 0;
    if (done && announced != own) refuse_announced(announced, own);
  }
  if (!done) team.comm->broadcast(of.as_group_memory(mine ? const_cast<void*>(source) : dest), bytes, root);
  if (mine && all && dest != source) phicoll_shmem_copy(dest, source, bytes);
}

/// Puts this PE's block of `bytes`, `at` bytes into the results of both PEs, of `all` bytes each, and returns
/// when the other has done so too. False: nothing was moved.
bool put_block(Team& team, void* dest, std::size_t all, std::size_t at, const void* source,
               std::size_t bytes) {
  const int other = 1 - team.comm->rank();
  const std::uint64_t own = announcement(dest, all);
  if (own != 0) {
    phicoll_shmem_copy(static_cast<char*>(team.at(dest, other)) + at, source, bytes);
    phicoll_shmem_copy(static_cast<char*>(dest) + at, source, bytes);
  }
  std::uint64_t announced[2];
  team.comm->allgather(&own, announced, sizeof own, nullptr, announcing_type);
  if (announced[0] == 0 || announced[1] == 0) return false;
  if (announced[other] != own) refuse_announced(announced[other], own);
  return true;
}

void fcollect(Team& team, void* dest, const void* source, std::size_t bytes) {
  const Request request = checked<Operation::allgather>(team, Request::allgather(source, dest, bytes));
  const std::size_t all = bytes * static_cast<std::size_t>(team.size());
  if (puts(team, Operation::allgather, bytes) &&
      put_block(team, dest, all, bytes * static_cast<std::size_t>(team.comm->rank()), source, bytes))
    return;
  team.comm->call(request);
}

void collect(Team& team, void* dest, const void* source, std::size_t bytes) {
  const auto size = static_cast<std::size_t>(team.size());
  std::vector<std::size_t> counts(size), places(size);
  team.comm->allgather(&bytes, counts.data(), sizeof bytes);
  std::size_t all = 0;
  for (std::size_t pe = 0; pe < size; ++pe) {
    places[pe] = all;
    all += counts[pe];
  }
  if (all == 0) return;
  const Request request = checked<Operation::allgather, true>(
      team, Request::allgatherv(source, bytes, dest, counts.data(), places.data()));
  if (puts(team, Operation::allgather, all) &&
      put_block(team, dest, all, places[static_cast<std::size_t>(team.comm->rank())], source, bytes))
    return;
  team.comm->call(request);
}

void alltoall(Team& team, void* dest, const void* source, std::size_t bytes) {
  team.comm->call(checked<Operation::alltoall>(team, Request::alltoall(source, dest, bytes)));
}

// Elements of a block lie `sst` and `dst` elements apart. Each PE fetches its blocks between two barriers:
// before the first no source is ready, and after the second all may be written again.
void alltoalls(Team& team, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
               std::size_t element, std::size_t count) {
  const int size = team.size(), me = team.comm->rank();
  const auto bytes = [&](std::ptrdiff_t stride) {  // from the first element to the end of the last
    const std::size_t elements = count * static_cast<std::size_t>(size);
    return elements == 0 ? 0 : ((elements - 1) * static_cast<std::size_t>(stride) + 1) * element;
  };
  check_apart(dest, bytes(dst), source, bytes(sst), false);
  team.own_context.delta = phicoll_shmem_ctx_default.delta != nullptr ? team.deltas.data() : nullptr;
  const auto block = [&](const void* base, std::ptrdiff_t stride, int pe) {
    return const_cast<char*>(static_cast<const char*>(base)) +
           static_cast<std::ptrdiff_t>(pe) * static_cast<std::ptrdiff_t>(count) * stride *
               static_cast<std::ptrdiff_t>(element);
  };
  team.comm->barrier();
  for (int step = 0; step < size; ++step) {
    const int pe = (me + step) % size;
    phicoll_shmem_strided_get(&team.own_context, block(dest, dst, pe), block(source, sst, me), dst, sst,
                              element, 1, count, pe);
  }
  team.comm->barrier();
}

}  // namespace

}  // namespace shmem
}  // namespace phicoll

using namespace phicoll;
using namespace phicoll::shmem;

// A barrier's signals are releases and its waits acquires: every PE that leaves it sees all that any PE
// stored before.
PHICOLL_SHMEM_EXPORT(void, barrier_all, ()) {
  guarded("barrier_all", [] { world().comm().barrier(); });
}
PHICOLL_SHMEM_EXPORT(void, sync_all, ()) {
  guarded("sync_all", [] { world().comm().barrier(); });
}
PHICOLL_SHMEM_EXPORT(int, team_sync, (shmem_team_t team)) {
  return on_team("team_sync", team, [](Team& of) { of.comm->barrier(); });
}
// PEs outside the active set see this PE's puts too.
PHICOLL_SHMEM_EXPORT(void, barrier, (int PE_start, int logPE_stride, int PE_size, long*)) {
  phicoll_shmem_full_fence();
  on_active_set("barrier", PE_start, logPE_stride, PE_size, [](Team& of) { of.comm->barrier(); });
}
PHICOLL_SHMEM_EXPORT(void, sync, (int PE_start, int logPE_stride, int PE_size, long*)) {
  on_active_set("sync", PE_start, logPE_stride, PE_size, [](Team& of) { of.comm->barrier(); });
}

// clang-format off
#define PHICOLL_SHMEM_COLLECTIVES(prefix, suffix, type, element)                                                      \
  PHICOLL_SHMEM_EXPORT(int, prefix##broadcast##suffix,                                                                \
                       (shmem_team_t team, type* dest, const type* source, size_t nelems, int PE_root)) {             \
    return on_team("broadcast", team, [=](Team& of) { broadcast(of, dest, source, nelems * (element), PE_root, true); }); \
  }                                                                                                                   \
  PHICOLL_SHMEM_EXPORT(int, prefix##collect##suffix,                                                                  \
                       (shmem_team_t team, type* dest, const type* source, size_t nelems)) {                          \
    return on_team("collect", team, [=](Team& of) { collect(of, dest, source, nelems * (element)); });                \
  }                                                                                                                   \
  PHICOLL_SHMEM_EXPORT(int, prefix##fcollect##suffix,                                                                 \
                       (shmem_team_t team, type* dest, const type* source, size_t nelems)) {                          \
    return on_team("fcollect", team, [=](Team& of) { fcollect(of, dest, source, nelems * (element)); });              \
  }                                                                                                                   \
  PHICOLL_SHMEM_EXPORT(int, prefix##alltoall##suffix,                                                                 \
                       (shmem_team_t team, type* dest, const type* source, size_t nelems)) {                          \
    return on_team("alltoall", team, [=](Team& of) { alltoall(of, dest, source, nelems * (element)); });              \
  }                                                                                                                   \
  PHICOLL_SHMEM_EXPORT(int, prefix##alltoalls##suffix,                                                                \
                       (shmem_team_t team, type* dest, const type* source, ptrdiff_t dst, ptrdiff_t sst,              \
                        size_t nelems)) {                                                                             \
    return on_team("alltoalls", team, [=](Team& of) { alltoalls(of, dest, source, dst, sst, element, nelems); });     \
  }
#define PHICOLL_SHMEM_COLLECTIVES_OF(name, type) PHICOLL_SHMEM_COLLECTIVES(name##_, , type, sizeof(type))
PHICOLL_SHMEM_RMA_TYPES(PHICOLL_SHMEM_COLLECTIVES_OF)
PHICOLL_SHMEM_COLLECTIVES(, mem, void, 1)

#define PHICOLL_SHMEM_REDUCTION(name, type, op)                                                                       \
  PHICOLL_SHMEM_EXPORT(int, name, (shmem_team_t team, type* dest, const type* source, size_t nreduce)) {              \
    return on_team(#name, team, [=](Team& of) { reduce<op>(of, dest, source, nreduce); });                            \
  }
#define PHICOLL_SHMEM_BITS(name, type)                        \
  PHICOLL_SHMEM_REDUCTION(name##_and_reduce, type, Op::band)  \
  PHICOLL_SHMEM_REDUCTION(name##_or_reduce, type, Op::bor)    \
  PHICOLL_SHMEM_REDUCTION(name##_xor_reduce, type, Op::bxor)
#define PHICOLL_SHMEM_ORDER(name, type)                      \
  PHICOLL_SHMEM_REDUCTION(name##_max_reduce, type, Op::max)  \
  PHICOLL_SHMEM_REDUCTION(name##_min_reduce, type, Op::min)
#define PHICOLL_SHMEM_SUM(name, type)                                                                                 \
  PHICOLL_SHMEM_REDUCTION(name##_sum_reduce, type, Op::sum)                                                           \
  PHICOLL_SHMEM_REDUCTION(name##_prod_reduce, type, Op::prod)                                                         \
  PHICOLL_SHMEM_EXPORT(int, name##_sum_inscan, (shmem_team_t team, type* dest, const type* source, size_t nelems)) {  \
    return on_team("sum_inscan", team, [=](Team& of) { reduce<Op::sum, Operation::scan>(of, dest, source, nelems); });                          \
  }                                                                                                                   \
  PHICOLL_SHMEM_EXPORT(int, name##_sum_exscan, (shmem_team_t team, type* dest, const type* source, size_t nelems)) {  \
    return on_team("sum_exscan", team, [=](Team& of) { reduce<Op::sum, Operation::scan, true>(of, dest, source, nelems); });                          \
  }
PHICOLL_SHMEM_BITS_TYPES(PHICOLL_SHMEM_BITS)
PHICOLL_SHMEM_ORDER_TYPES(PHICOLL_SHMEM_ORDER)
PHICOLL_SHMEM_SUM_TYPES(PHICOLL_SHMEM_SUM)
#undef PHICOLL_SHMEM_BITS
#undef PHICOLL_SHMEM_ORDER
#undef PHICOLL_SHMEM_SUM

// Deprecated: on active sets.
#define PHICOLL_SHMEM_OLD_COLLECTIVES(bits, element)                                                                  \
  PHICOLL_SHMEM_EXPORT(void, broadcast##bits,                                                                         \
                       (void* dest, const void* source, size_t nelems, int PE_root, int PE_start, int logPE_stride,   \
                        int PE_size, long*)) {                                                                        \
    on_active_set("broadcast" #bits, PE_start, logPE_stride, PE_size,                                                 \
                  [=](Team& of) { broadcast(of, dest, source, nelems * element, PE_root, false); });                  \
  }                                                                                                                   \
  PHICOLL_SHMEM_EXPORT(void, collect##bits,                                                                           \
                       (void* dest, const void* source, size_t nelems, int PE_start, int logPE_stride, int PE_size,   \
                        long*)) {                                                                                     \
    on_active_set("collect" #bits, PE_start, logPE_stride, PE_size,                                                   \
                  [=](Team& of) { collect(of, dest, source, nelems * element); });                                    \
  }                                                                                                                   \
  PHICOLL_SHMEM_EXPORT(void, fcollect##bits,                                                                          \
                       (void* dest, const void* source, size_t nelems, int PE_start, int logPE_stride, int PE_size,   \
                        long*)) {                                                                                     \
    on_active_set("fcollect" #bits, PE_start, logPE_stride, PE_size,                                                  \
                  [=](Team& of) { fcollect(of, dest, source, nelems * element); });                                   \
  }                                                                                                                   \
  PHICOLL_SHMEM_EXPORT(void, alltoall##bits,                                                                          \
                       (void* dest, const void* source, size_t nelems, int PE_start, int logPE_stride, int PE_size,   \
                        long*)) {                                                                                     \
    on_active_set("alltoall" #bits, PE_start, logPE_stride, PE_size,                                                  \
                  [=](Team& of) { alltoall(of, dest, source, nelems * element); });                                   \
  }                                                                                                                   \
  PHICOLL_SHMEM_EXPORT(void, alltoalls##bits,                                                                         \
                       (void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int PE_start,    \
                        int logPE_stride, int PE_size, long*)) {                                                      \
    on_active_set("alltoalls" #bits, PE_start, logPE_stride, PE_size,                                                 \
                  [=](Team& of) { alltoalls(of, dest, source, dst, sst, element, nelems); });                         \
  }
PHICOLL_SHMEM_OLD_COLLECTIVES(32, 4)
PHICOLL_SHMEM_OLD_COLLECTIVES(64, 8)

#define PHICOLL_SHMEM_OLD_REDUCTION(name, type, op)                                                                   \
  PHICOLL_SHMEM_EXPORT(void, name, (type * dest, const type* source, int nreduce, int PE_start, int logPE_stride,     \
                                    int PE_size, type*, long*)) {                                                     \
    on_active_set(#name, PE_start, logPE_stride, PE_size, [=](Team& of) {                                             \
      reduce<op>(of, dest, source, checked_count(nreduce));                              \
    });                                                                                                               \
  }
#define PHICOLL_SHMEM_BITS(name, type)                           \
  PHICOLL_SHMEM_OLD_REDUCTION(name##_and_to_all, type, Op::band) \
  PHICOLL_SHMEM_OLD_REDUCTION(name##_or_to_all, type, Op::bor)   \
  PHICOLL_SHMEM_OLD_REDUCTION(name##_xor_to_all, type, Op::bxor)
#define PHICOLL_SHMEM_ORDER(name, type)                         \
  PHICOLL_SHMEM_OLD_REDUCTION(name##_max_to_all, type, Op::max) \
  PHICOLL_SHMEM_OLD_REDUCTION(name##_min_to_all, type, Op::min)
#define PHICOLL_SHMEM_SUM(name, type)                           \
  PHICOLL_SHMEM_OLD_REDUCTION(name##_sum_to_all, type, Op::sum) \
  PHICOLL_SHMEM_OLD_REDUCTION(name##_prod_to_all, type, Op::prod)
PHICOLL_SHMEM_OLD_BITS_TYPES(PHICOLL_SHMEM_BITS)
PHICOLL_SHMEM_OLD_ORDER_TYPES(PHICOLL_SHMEM_ORDER)
PHICOLL_SHMEM_OLD_SUM_TYPES(PHICOLL_SHMEM_SUM)
// clang-format on
