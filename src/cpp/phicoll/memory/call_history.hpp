#pragma once

// What one rank has called, in its own memory, for itself.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace phicoll {

/// What must be the same on all ranks in one call, packed: see CallSignature in collectives/. 0 is a
/// barrier's.
using SignatureWord = std::uint64_t;

/// A call as it is compared between ranks: itself, and 16 bits of all calls up to it.
struct CallNote {
  SignatureWord signature;
  std::uint64_t tag;
};
inline bool operator==(const CallNote& a, const CallNote& b) {
  return a.signature == b.signature && a.tag == b.tag;
}

/// Runs of calls with one signature, so that a loop of the same call writes one line only. (An entry for each
/// call made a small broadcast a third slower.)
///
/// Beside them the chain: a hash of all calls begun so far and of where barriers were among them. A call
/// whose ranks do not wait for each other (a broadcast of which each is the root) is not found when it is
/// made. But every later call then has another tag on each of these ranks, and the first one through which
/// data goes finds it.
class CallHistory {
 public:
  /// Runs, hence calls at least. A ring has 4,096 cells at most, so a rank is no further ahead by calls of
  /// one algorithm. Calls of several, and such as move nothing, add up: who is further ahead is found out
  /// when it leaves, if not before.
  static constexpr std::uint64_t remembered = 8192;

  CallHistory() : runs_(static_cast<Run*>(std::calloc(remembered, sizeof(Run)))) {
    if (runs_ == nullptr) return;
    first_ = newest_ = runs_.get();
    end_ = first_ + remembered;
  }
  CallHistory(CallHistory&&) = delete;
  CallHistory& operator=(CallHistory&&) = delete;

  /// Collective calls begun so far; they are counted from 1.
  std::uint64_t begun() const { return begun_; }
  /// Of all calls begun so far but for barriers behind the last of the others.
  std::uint64_t chain() const { return chain_; }
  /// 16 bits of it, for the lines through which a call's data goes.
  std::uint64_t tag() const { return tag_of(chain_); }

  /// Begins a call that is not remembered (a barrier, which nobody leaves ahead of others), or one that is.
  std::uint64_t begin() { return ++begun_; }
  /// `mark`: what must agree, too, and has no place in the signature.
  std::uint64_t begin(SignatureWord signature, std::uint64_t mark = 0) {
    const std::uint64_t key = signature + mark;
    ++begun_;
    if (newest_->key == key && newest_->last + 1 == begun_) {
      newest_->last = begun_;
    } else {
      // The number stands for the barriers in front of it.
      chain_ += begun_ * position;
      newest_ = newest_ + 1 == end_ ? first_ : newest_ + 1;
      *newest_ = Run{begun_, begun_, signature, key, chain_};
    }
    chain_ = (chain_ + key) * multiplier;
    return begun_;
  }
  bool find(std::uint64_t call, CallNote* note) const {
    const auto runs = static_cast<std::uint64_t>(end_ - first_);
    const auto newest = static_cast<std::uint64_t>(newest_ - first_);
    for (std::uint64_t back = 0; back < runs; ++back) {
      const Run& run = first_[(newest + runs - back) % runs];
      if (run.last < call || run.first == 0) return false;
      if (run.first > call) continue;
      *note = CallNote{run.signature, tag_of(after(run, call - run.first + 1))};
      return true;
    }
    return false;
  }

 private:
  struct Run {
    std::uint64_t first;
    std::uint64_t last;
    SignatureWord signature;
    std::uint64_t key;     // with the mark
    std::uint64_t before;  // the chain in front of the first call, its number in it
  };
  struct Freed {
    void operator()(Run* memory) const { std::free(memory); }
  };
  // Odd, so that no bit is lost however long the chain is.
  static constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15ull;
  static constexpr std::uint64_t position = 0xd1b54a32d192ed03ull;
  static std::uint64_t tag_of(std::uint64_t chain) { return chain >> 48; }
  /// The chain after so many calls of a run. One step is chain * a + b; steps are doubled.
  static std::uint64_t after(const Run& run, std::uint64_t calls) {
    std::uint64_t chain = run.before;
    std::uint64_t a = multiplier;
    std::uint64_t b = run.key * multiplier;
    for (; calls != 0; calls >>= 1) {
      if ((calls & 1) != 0) chain = chain * a + b;
      b += a * b;
      a *= a;
    }
    return chain;
  }

  std::uint64_t begun_ = 0;
  std::uint64_t chain_ = 0;
  std::unique_ptr<Run[], Freed> runs_;  // null where there was no memory: then the last run alone
  Run alone_{0, 0, 0, 0, 0};
  Run* newest_ = &alone_;
  Run* first_ = &alone_;
  Run* end_ = &alone_ + 1;
};

}  // namespace phicoll
