#pragma once

// Which of two ways a root takes for its calls of one size. One of them is the usual one; now and then the other is tried in
// a run of calls, of which the last counts: a way that reads the same memory again may be fast only from the second call
// on, while a reader's CopyWays count each call alone. The longer the usual way stays the faster one, the more calls lie
// between two trials.

#include <cstddef>
#include <cstdint>

namespace phicoll {

class TrialRuns {
 public:
  explicit TrialRuns(std::size_t bytes = 0) : bytes_(bytes) {}

  /// Whether the next call, of `bytes` bytes, goes the second way. A call of another size than the last one begins anew,
  /// with the first way.
  bool second(std::size_t bytes) {
    if (bytes != bytes_) *this = TrialRuns(bytes);
    return usual_ != trying_;
  }
  /// How long the call took. `handicap`: what the first way costs others, in percent of its own time.
  void took(std::int64_t ns, int handicap) {
    if (usual_ == trying_) ns += ns * handicap / 100;
    if (!trying_) {
      if (left_ == gap_ || ns < usual_ns_) usual_ns_ = ns;
    } else if (left_ == 1) {
      const bool better = ns < usual_ns_;
      usual_ = usual_ != better;
      gap_ = better ? least_gap : gap_ < most_gap ? 2 * gap_ : gap_;
    }
    if (--left_ != 0) return;
    trying_ = !trying_;
    left_ = gap_;
    if (trying_) left_ = tried;
  }

 private:
  static constexpr unsigned tried = 3;
  static constexpr unsigned least_gap = 8;
  static constexpr unsigned most_gap = 512;

  std::size_t bytes_ = 0;
  std::int64_t usual_ns_ = 0;  // the usual way's least time since the last trial
  unsigned gap_ = least_gap;
  unsigned left_ = least_gap;  // calls of the present run
  bool usual_ = false;
  bool trying_ = false;
};

}  // namespace phicoll
