#pragma once

#include <atomic>
#include <cstdint>

namespace phicoll {

/// Decides whether waits yield. Long yields show that something else computes on the CPU; each gives that a
/// time slice of some ms. Where they are many among the waits, waits do without for many times as long: they
/// sleep, and the kernel lets a thread that has slept go first. Then one wait tries. If its yields are short,
/// all yield again. That may be chance: if long ones soon are many again, waits do without for twice as long.
/// Threads may share one of these.
class DearYields {
 public:
  enum class Way { yields, tries, without };
  /// Of so many waits that yield, the yields of one are noted; of the first after a long yield all are, as
  /// long ones come in rows.
  explicit constexpr DearYields(unsigned one_of = 1) : one_of_(one_of) {}
  /// To be called when a wait would yield; `first`: for the first time.
  Way way(std::int64_t now_ns, bool first = true);
  /// Whether to note the yields of a wait that goes this way: for the others they cost no clock.
  bool notes(Way way) const {
    const unsigned waits = waits_.load(std::memory_order_relaxed);
    return way == Way::tries || waits < all_noted || waits % one_of_ == 0;
  }
  /// Whether way() looks at the time.
  bool needs_time() const { return until_ns_.load(std::memory_order_relaxed) != 0; }
  /// Notes a yield of such a wait. Returns whether waits now do without.
  bool note(Way way, std::int64_t began_ns, std::int64_t now_ns);
  /// For a thread that has moved to another CPU.
  void forget() {
    until_ns_.store(0, std::memory_order_relaxed);
    waits_.store(many, std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned many = 1 << 20, all_noted = 64;

  const unsigned one_of_;
  std::atomic<std::int64_t> until_ns_{0};          // 0: not known to be dear
  std::atomic<std::int64_t> without_ns_{0};        // how long waits did without last
  std::atomic<std::int64_t> opened_ns_{0};         // when a trial ended that
  std::atomic<std::int64_t> noted_ns_{INT64_MIN};  // the end of the last long yield
  std::atomic<unsigned> dense_{0};                 // long yields in a row with few waits between
  // Those that have yielded since the last long yield. Threads may lose some.
  std::atomic<unsigned> waits_{many};
};

}  // namespace phicoll
