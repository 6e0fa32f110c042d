// Waiting for a change of this PE's own memory, and testing for it. Looks are acquire loads: whoever sees a
// word that a PE stored after fence(), or by a signal, sees what that PE put before.

#include <string>

#include "phicoll/shmem/world.hpp"

namespace phicoll {
namespace shmem {

namespace {

template <class T>
T look_at(const T* place) {
  return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}

/// Calls f with the comparison, so that a loop of looks decides once which it is.
template <class T, class F>
auto by_comparison(int cmp, T value, F f) {
  switch (cmp) {
    case SHMEM_CMP_EQ:
      return f([=](T seen) { return seen == value; });
    case SHMEM_CMP_NE:
      return f([=](T seen) { return seen != value; });
    case SHMEM_CMP_GT:
      return f([=](T seen) { return seen > value; });
    case SHMEM_CMP_GE:
      return f([=](T seen) { return seen >= value; });
    case SHMEM_CMP_LT:
      return f([=](T seen) { return seen < value; });
    case SHMEM_CMP_LE:
      return f([=](T seen) { return seen <= value; });
    default:
      refuse("cmp", std::to_string(cmp), "SHMEM_CMP_EQ, _NE, _GT, _GE, _LT, _LE");
  }
}

template <class T>
bool holds(const T* place, int cmp, T value) {
  return by_comparison(cmp, value, [=](auto compares) { return compares(look_at(place)); });
}

template <class Look>
void wait_for(const char* function, Look look) {
  if (look()) return;
  guarded(function, [&] { world().wait(look); });
}

/// The answer of a call that does not wait.
template <class T>
T told(T found, T nothing) {
  if (found == nothing) world().look();
  return found;
}

/// In checked mode: nobody else could store to private memory.
void check_words(const void* words, std::size_t bytes) {
  const World& all = world();
  if (all.checks() && bytes != 0 && all.where(words, bytes) == World::Where::nowhere)
    refuse("ivar", "memory that is not symmetric", "a symmetric object");
}

template <class T>
void wait_until(T* place, int cmp, T value) {
  check_words(place, sizeof *place);
  by_comparison(cmp, value,
                [=](auto compares) { wait_for("wait_until", [=] { return compares(look_at(place)); }); });
}

/// Some words and what is wanted of each: one value, or one of each word's own. Words whose status is not 0
/// do not count.
template <class T>
struct Several {
  const T* words;
  std::size_t count;
  const int* status;
  int cmp;
  const T* values;
  bool own_values;

  bool counts(std::size_t i) const { return status == nullptr || status[i] == 0; }
  bool holds_at(std::size_t i) const { return holds(words + i, cmp, own_values ? values[i] : *values); }
  bool none_counts() const {
    for (std::size_t i = 0; i < count; ++i)
      if (counts(i)) return false;
    return true;
  }
  bool all() const {
    for (std::size_t i = 0; i < count; ++i)
      if (counts(i) && !holds_at(i)) return false;
    return true;
  }
  /// The first that holds, from `from` on and around; SIZE_MAX if none does.
  std::size_t any(std::size_t from) const {
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t i = from + n < count ? from + n : from + n - count;
      if (counts(i) && holds_at(i)) return i;
    }
    return SIZE_MAX;
  }
  std::size_t some(std::size_t* indices) const {
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (counts(i) && holds_at(i)) indices[found++] = i;
    return found;
  }
  void wait_all() const {
    wait_for("wait_until_all", [this] { return all(); });
  }
  std::size_t wait_any() const {
    if (none_counts()) return SIZE_MAX;
    std::size_t found = SIZE_MAX;
    wait_for("wait_until_any", [&] { return (found = test_any()) != SIZE_MAX; });
    return found;
  }
  std::size_t wait_some(std::size_t* indices) const {
    if (none_counts()) return 0;
    std::size_t found = 0;
    wait_for("wait_until_some", [&] { return (found = some(indices)) != 0; });
    return found;
  }
  /// Begins after the last one found, so that no word that holds is passed over for ever.
  std::size_t test_any() const {
    static thread_local std::size_t next = 0;
    const std::size_t found = any(count == 0 ? 0 : next % count);
    if (found != SIZE_MAX) next = found + 1;
    return found;
  }
};

template <class T>
Several<T> several(const T* words, std::size_t count, const int* status, int cmp, const T* values,
                   bool own_values) {
  check_words(words, count * sizeof *words);
  return Several<T>{words, count, status, cmp, values, own_values};
}

}  // namespace

}  // namespace shmem
}  // namespace phicoll

using namespace phicoll::shmem;

// clang-format off
#define PHICOLL_SHMEM_WAIT(name, type)                                                                               \
  PHICOLL_SHMEM_EXPORT(void, name##_wait_until, (type * ivar, int cmp, type value)) { wait_until(ivar, cmp, value); } \
  PHICOLL_SHMEM_EXPORT(int, name##_test, (type * ivar, int cmp, type value)) { return told(holds(ivar, cmp, value), false); }      \
  PHICOLL_SHMEM_WAIT_SEVERAL(name, type, , type value, &value, false)                                                 \
  PHICOLL_SHMEM_WAIT_SEVERAL(name, type, _vector, type* values, values, true)
#define PHICOLL_SHMEM_WAIT_SEVERAL(name, type, suffix, wanted, values, own)                                          \
  PHICOLL_SHMEM_EXPORT(void, name##_wait_until_all##suffix,                                                          \
                       (type * ivars, size_t nelems, const int* status, int cmp, wanted)) {                          \
    several<type>(ivars, nelems, status, cmp, values, own).wait_all();                                               \
  }                                                                                                                  \
  PHICOLL_SHMEM_EXPORT(size_t, name##_wait_until_any##suffix,                                                        \
                       (type * ivars, size_t nelems, const int* status, int cmp, wanted)) {                          \
    return several<type>(ivars, nelems, status, cmp, values, own).wait_any();                                        \
  }                                                                                                                  \
  PHICOLL_SHMEM_EXPORT(size_t, name##_wait_until_some##suffix,                                                       \
                       (type * ivars, size_t nelems, size_t* indices, const int* status, int cmp, wanted)) {         \
    return several<type>(ivars, nelems, status, cmp, values, own).wait_some(indices);                                \
  }                                                                                                                  \
  PHICOLL_SHMEM_EXPORT(int, name##_test_all##suffix,                                                                 \
                       (type * ivars, size_t nelems, const int* status, int cmp, wanted)) {                          \
    return told(several<type>(ivars, nelems, status, cmp, values, own).all(), false);                                             \
  }                                                                                                                  \
  PHICOLL_SHMEM_EXPORT(size_t, name##_test_any##suffix,                                                              \
                       (type * ivars, size_t nelems, const int* status, int cmp, wanted)) {                          \
    return told(several<type>(ivars, nelems, status, cmp, values, own).test_any(), SIZE_MAX);                                        \
  }                                                                                                                  \
  PHICOLL_SHMEM_EXPORT(size_t, name##_test_some##suffix,                                                             \
                       (type * ivars, size_t nelems, size_t* indices, const int* status, int cmp, wanted)) {         \
    return told(several<type>(ivars, nelems, status, cmp, values, own).some(indices), size_t{0});                                     \
  }
PHICOLL_SHMEM_WAIT_TYPES(PHICOLL_SHMEM_WAIT)

// Deprecated: until a word is no longer `value`.
#define PHICOLL_SHMEM_OLD_WAIT(name, type) \
  PHICOLL_SHMEM_EXPORT(void, name##_wait, (type * ivar, type value)) { wait_until(ivar, SHMEM_CMP_NE, value); }
PHICOLL_SHMEM_OLD_WAIT_TYPES(PHICOLL_SHMEM_OLD_WAIT)
// clang-format on
PHICOLL_SHMEM_EXPORT(void, wait, (long* ivar, long value)) {
  wait_until(ivar, SHMEM_CMP_NE, value);
}
PHICOLL_SHMEM_EXPORT(void, wait_until, (long* ivar, int cmp, long value)) {
  wait_until(ivar, cmp, value);
}

PHICOLL_SHMEM_EXPORT(uint64_t, signal_wait_until, (uint64_t * sig_addr, int cmp, uint64_t cmp_value)) {
  wait_until(sig_addr, cmp, cmp_value);
  return look_at(sig_addr);
}
