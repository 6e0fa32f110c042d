#pragma once

#include <cstdint>

#include "phicoll/arch/arch.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/os/clock.hpp"

namespace phicoll {

/// The host's numbers that a whole group has learned, from whichever of its communicators of all ranks
/// measured them. Lies in the group's memory and is valid when zeroed. Written once: by rank 0 of the
/// communicator that has claimed it.
///
/// Ranks find it written at different moments, so they act on what one rank found:
///
///  - in a call of all ranks of a communicator, its rank 0, which tells the others
///    (Communicator::learn_numbers);
///  - in a new communicator, its first rank, which writes the numbers into the new memory
///    (found_child in split.cpp).
class alignas(arch::stride_bytes) LearnedNumbers {
 public:
  /// Replaces `numbers` by what was learned. Returns false, without effect, if that is nothing yet.
  bool read(HostNumbers* numbers) const {
    // Acquires what write() released, so the numbers are whole; nothing writes them again.
    if (state_.atomic().load(std::memory_order_acquire) != written) return false;
    *numbers = numbers_;
    return true;
  }
  /// Called by the group's maker: claims are refused as early until `ns` after the first.
  void wait_before_measuring(std::int64_t ns) { wait_ns_ = ns; }
  enum class Claim : std::uint64_t { granted, taken, early };
  /// Claims, for good, the right to measure and to write: granted unless another communicator has it, or it
  /// is too early.
  Claim claim() {
    // Relaxed: ranks of different communicators may come at once, and the first one's time stays.
    if (wait_ns_ != 0) {
      const auto now = static_cast<std::uint64_t>(os::now_ns());
      std::uint64_t first = 0;
      // Signed: another rank may just have stored a later time.
      if (first_claim_.atomic().compare_exchange_strong(first, now, std::memory_order_relaxed) ||
          static_cast<std::int64_t>(now - first) < wait_ns_)
        return Claim::early;
    }
    std::uint32_t none = 0;
    // Relaxed: nothing but the right depends on it.
    return state_.atomic().compare_exchange_strong(none, claimed, std::memory_order_relaxed) ? Claim::granted
                                                                                             : Claim::taken;
  }
  /// After claim().
  void write(const HostNumbers& numbers) {
    numbers_ = numbers;
    state_.atomic().store(written, std::memory_order_release);
  }

 private:
  static constexpr std::uint32_t claimed = 1, written = 2;

  Word<std::uint32_t> state_;
  std::int64_t wait_ns_;
  Word<std::uint64_t> first_claim_;
  HostNumbers numbers_;
};

}  // namespace phicoll
