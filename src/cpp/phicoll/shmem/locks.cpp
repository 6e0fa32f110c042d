// Locks: the queue of Mellor-Crummey and Scott (1991). A symmetric lock is a long on each PE. Its upper half
// is the queue's tail, of PE 0's copy alone; its lower half is the PE's own node: its successor, and whether
// the lock was handed to it. PEs are noted as their number plus one. The first come is the first served, and
// each waits on its own word.

#include <cstdint>
#include <string>

#include "phicoll/shmem/world.hpp"

namespace phicoll {
namespace shmem {

namespace {

struct Words {
  std::uint32_t node;
  std::uint32_t tail;
};
static_assert(sizeof(Words) == sizeof(long), "a lock is a long");
constexpr std::uint32_t granted = 1u << 31;

class Lock {
 public:
  Lock(World& all, long* lock) : all_(all), lock_(lock), mine_(static_cast<std::uint32_t>(all.my_pe()) + 1) {
    if (all.where(lock, sizeof *lock) == World::Where::nowhere)
      refuse("lock", "memory that is not symmetric", "a symmetric long");
  }

  void set() {
    if (all_.checks() && held()) end_with("shmem_set_lock: this PE holds the lock already");
    store(node(), 0);
    // Acquire: what the holder before stored. Release: the node above.
    const std::uint32_t before = __atomic_exchange_n(tail(), mine_, __ATOMIC_ACQ_REL);
    if (before != 0) {
      __atomic_fetch_or(node(static_cast<int>(before) - 1), mine_, __ATOMIC_RELEASE);
      guarded("set_lock", [&] { all_.wait([this] { return (load(node()) & granted) != 0; }); });
    }
    __atomic_fetch_or(node(), granted, __ATOMIC_RELAXED);
  }

  bool test() {
    if (load(tail()) != 0) return false;
    store(node(), 0);
    std::uint32_t nobody = 0;
    if (!__atomic_compare_exchange_n(tail(), &nobody, mine_, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return false;
    __atomic_fetch_or(node(), granted, __ATOMIC_RELAXED);
    return true;
  }

  void clear() {
    if (!held()) end_with("shmem_clear_lock: this PE does not hold the lock");
    // As the specification says, all this PE's accesses are complete before another has the lock.
    phicoll_shmem_full_fence();
    std::uint32_t next = load(node()) & ~granted;
    if (next == 0) {
      std::uint32_t last = mine_;
      if (__atomic_compare_exchange_n(tail(), &last, 0u, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        store(node(), 0);
        return;
      }
      // A PE is between its exchange of the tail and its note here.
      guarded("clear_lock", [&] { all_.wait([&] { return (next = load(node()) & ~granted) != 0; }); });
    }
    store(node(), 0);
    __atomic_fetch_or(node(static_cast<int>(next) - 1), granted, __ATOMIC_RELEASE);
  }

 private:
  Words* words(int pe) {
    return static_cast<Words*>(phicoll_shmem_slow_at(SHMEM_CTX_DEFAULT, lock_, sizeof *lock_, pe));
  }
  std::uint32_t* node(int pe) { return &words(pe)->node; }
  std::uint32_t* node() { return node(all_.my_pe()); }
  std::uint32_t* tail() { return &words(0)->tail; }
  bool held() { return (load(node()) & granted) != 0; }
  static std::uint32_t load(const std::uint32_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
  static void store(std::uint32_t* word, std::uint32_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
  }

  World& all_;
  long* lock_;
  std::uint32_t mine_;
};

}  // namespace

}  // namespace shmem
}  // namespace phicoll

using namespace phicoll::shmem;

PHICOLL_SHMEM_EXPORT(void, set_lock, (long* lock)) {
  Lock(world(), lock).set();
}
PHICOLL_SHMEM_EXPORT(int, test_lock, (long* lock)) {
  if (Lock(world(), lock).test()) return 0;
  world().look();
  return 1;
}
PHICOLL_SHMEM_EXPORT(void, clear_lock, (long* lock)) {
  Lock(world(), lock).clear();
}
