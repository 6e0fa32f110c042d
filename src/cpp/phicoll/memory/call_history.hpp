#pragma once

// The calls that one rank has made, recorded in its own memory for its own use.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace phicoll {

/// What must be the same on all ranks in one call, packed: see call_signature in collectives/. 0 for a
/// barrier.
using SignatureWord = std::uint64_t;

/// Runs of calls with one signature and the same number of barriers between them, so that a loop of one call
/// writes only one line. (One entry per call slowed small broadcasts.)
///
/// It also keeps the chain: a hash of all calls begun so far, with barriers. A mismatched call whose ranks do
/// not wait for each other (a broadcast of which each rank is the root) is not found when it is made. But
/// then every later call has different tags on these ranks, and the first that moves data finds the mismatch.
class CallHistory {
 public:
  /// Number of runs, so at least this many calls. A ring has at most 4,096 cells, so calls of one algorithm
  /// cannot put a rank further ahead. Calls of several algorithms, and calls that move nothing, add up; a
  /// mismatch that is further back is found when the rank leaves, if not before.
  static constexpr std::uint64_t remembered = 8192;

  CallHistory() = default;
  CallHistory(CallHistory&&) = delete;
  CallHistory& operator=(CallHistory&&) = delete;

  /// Collective calls begun so far, counted from 1.
  std::uint64_t begun() const { return begun_; }
  /// The hash of all calls begun so far, except for barriers after the last other call.
  std::uint64_t chain() const { return chain_; }
  /// 16 bits of the chain, for the lines through which a call's data goes.
  std::uint64_t tag() const { return tag_of(chain_); }

  /// Begins a call: one that is not remembered (a barrier, which no rank leaves ahead of others), or one that
  /// is.
  std::uint64_t begin() { return ++begun_; }
  /// `mark`: what else must agree but has no room in the signature.
  std::uint64_t begin(SignatureWord signature, std::uint64_t mark = 0) {
    const std::uint64_t key = signature + mark;
    const std::uint64_t step = ++begun_ - newest_->last;  // more than 1 if barriers came before
    if (__builtin_expect(newest_->key == key && newest_->step == step, 1)) {
      newest_->last = begun_;
      chain_ = (chain_ + newest_->added) * multiplier;
    } else {
      begin_run(signature, key, step);
    }
    return begun_;
  }
  /// What tag() will be if such a call is begun next.
  std::uint64_t tag_after(SignatureWord signature, std::uint64_t mark) const {
    return tag_of((chain_ + added(begun_ + 1 - newest_->last, signature + mark)) * multiplier);
  }
  /// The signature of the last remembered call.
  struct Last {
    SignatureWord signature;
    std::uint64_t mark;
  };
  /// The signature of the call just before the present barrier; else 0, as after another barrier.
  SignatureWord before_barrier() const { return newest_->last + 1 == begun_ ? newest_->signature : 0; }
  Last last() const { return {newest_->signature, newest_->key - newest_->signature}; }
  /// The signature of a call, and what tag() was once it had begun; false if it is not remembered.
  bool find(std::uint64_t call, SignatureWord* signature, std::uint64_t* tag) const {
    const auto runs = static_cast<std::uint64_t>(end_ - first_);
    const auto newest = static_cast<std::uint64_t>(newest_ - first_);
    for (std::uint64_t back = 0; back < runs; ++back) {
      const Run& run = first_[(newest + runs - back) % runs];
      if (run.last < call || run.first == 0) return false;
      if (run.first > call) continue;
      const std::uint64_t step = run.step != 0 ? run.step : 1;
      if ((call - run.first) % step != 0) return false;
      *signature = run.signature;
      *tag = tag_of(after(run, (call - run.first) / step));
      return true;
    }
    return false;
  }

 private:
  struct Run {
    std::uint64_t first;
    std::uint64_t last;
    std::uint64_t step;  // from a call to the next; 0 while there is one
    SignatureWord signature;
    std::uint64_t key;    // includes the mark
    std::uint64_t added;  // to the chain by the last call
    std::uint64_t chain;  // after the first call
  };
  struct Freed {
    void operator()(Run* memory) const { std::free(memory); }
  };
  // Odd, so that no bit is lost however long the chain gets.
  static constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15ull;
  static constexpr std::uint64_t position = 0xd1b54a32d192ed03ull;
  [[gnu::noinline]] void begin_run(SignatureWord signature, std::uint64_t key, std::uint64_t step) {
    const std::uint64_t adds = added(step, key);
    chain_ = (chain_ + adds) * multiplier;
    if (newest_->key == key && newest_->step == 0 && newest_->first != 0) {
      newest_->step = step;
      newest_->added = adds;
      newest_->last = begun_;
      return;
    }
    if (newest_ + 1 == end_ && first_->first == 0) grow();
    newest_ = newest_ + 1 == end_ ? first_ : newest_ + 1;
    *newest_ = Run{begun_, begun_, 0, signature, key, adds, chain_};
  }
  /// Makes room for more runs: most communicators make few calls, and 8,192 runs are 448 KB. Only while the
  /// empty run, at which find() ends, stands first; where there is no memory, it is overwritten, and the ring
  /// stays as it is.
  void grow() {
    const auto runs = static_cast<std::uint64_t>(end_ - first_);
    if (runs == remembered) return;
    const std::uint64_t more = runs == 1 ? remembered / 64 : runs * 8;
    auto* const grown = static_cast<Run*>(std::realloc(runs_.get(), more * sizeof(Run)));
    if (grown == nullptr) return;
    if (runs == 1) *grown = alone_;
    runs_.release();
    runs_.reset(grown);
    newest_ = grown + runs - 1;
    first_ = grown;
    end_ = grown + more;
  }
  static std::uint64_t tag_of(std::uint64_t chain) { return chain >> 48; }
  /// What a call adds to the chain; its distance from the call before it stands for the barriers between the
  /// two.
  static std::uint64_t added(std::uint64_t step, std::uint64_t key) { return step * position + key; }
  /// The chain after `calls` more calls than a run's first. One of them is chain * a + b; their number is
  /// doubled.
  static std::uint64_t after(const Run& run, std::uint64_t calls) {
    std::uint64_t chain = run.chain;
    std::uint64_t a = multiplier;
    std::uint64_t b = run.added * multiplier;
    for (; calls != 0; calls >>= 1) {
      if ((calls & 1) != 0) chain = chain * a + b;
      b += a * b;
      a *= a;
    }
    return chain;
  }

  std::uint64_t begun_ = 0;
  std::uint64_t chain_ = 0;
  std::unique_ptr<Run[], Freed> runs_;  // null before the first run, and where there was no memory
  Run alone_{0, 0, 0, 0, 0, 0, 0};
  Run* newest_ = &alone_;
  Run* first_ = &alone_;
  Run* end_ = &alone_ + 1;
};

}  // namespace phicoll
