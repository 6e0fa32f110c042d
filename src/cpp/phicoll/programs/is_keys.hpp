#pragma once

// A rank's keys in IS of the NAS Parallel Benchmarks (their report, section 2.7), between the exchanges: they
// are made, sorted into buckets, dealt out to ranks, counted and verified.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "phicoll/programs/context.hpp"
#include "phicoll/programs/npb_random.hpp"
#include "phicoll/programs/program.hpp"

namespace phicoll {
namespace programs {

class IsKeys {
 public:
  using Key = std::int32_t;
  using Size = std::int32_t;
  static constexpr int tests = 5;
  static constexpr int iterations = 10;
  struct Problem {
    int log_keys, log_largest, log_buckets;
    long place[tests];  ///< of the keys that NPB verifies in each iteration
    long rank[tests];   ///< what their ranks are, before the shifts
    int rising;         ///< so many of these rise with the iterations, the others fall
    int rising_shift, falling_shift;
  };
  static std::vector<ProblemClass> classes() {
    return {{'S', "2^16 keys below 2^11"},
            {'W', "2^20 keys below 2^16"},
            {'A', "2^23 keys below 2^19"},
            {'B', "2^25 keys below 2^21"}};
  }
  static Problem problem(char letter) {
    switch (letter) {
      case 'W':
        return {
            20, 16, 10, {357773, 934767, 875723, 898999, 404505}, {1249, 11698, 1039987, 1043896, 1048018},
            2,  -2, 0};
      case 'A':
        return {
            23, 19, 10, {2112377, 662041, 5336171, 3642833, 4250760}, {104, 17523, 123928, 8288932, 8388264},
            3,  -1, 1};
      case 'B':
        return {
            25, 21, 10, {812306, 5102857, 26860214, 41869, 18232239}, {10244, 59149, 99, 33422937, 33135281},
            3,  0,  0};
      default:
        return {16, 11, 9, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}, 3, 0, 0};
    }
  }
  static const char* ranks_allowed(int ranks) {
    return ranks <= 512 ? nullptr : "no more ranks than 512 buckets";
  }
  /// Of an array of buckets' sizes and of the keys that are verified.
  static std::size_t sizes(char letter) { return (std::size_t{1} << problem(letter).log_buckets) + tests; }
  /// Keys that a rank has before they are exchanged, and after it, at most. A rank gets buckets until it has
  /// its part of all keys. The middle bucket has eight thirds of a mean bucket's keys, as a key is the sum of
  /// four random numbers.
  static std::size_t most_made(char letter, int ranks) {
    return (std::size_t{1} << problem(letter).log_keys) / static_cast<std::size_t>(ranks) + 1;
  }
  static std::size_t most_received(char letter, int ranks) {
    return most_made(letter, ranks) +
           (std::size_t{4} << (problem(letter).log_keys - problem(letter).log_buckets));
  }

  IsKeys(char letter, int rank, int ranks)
      : problem_(problem(letter)),
        own_(share_of(1L << problem_.log_keys, rank, ranks)),
        rank_(rank),
        ranks_(ranks),
        sizes_(sizes(letter)),
        all_sizes_(sizes_.size()),
        counts_(static_cast<std::size_t>(ranks)) {
    NpbRandom random;
    if (own_.first > 0)
      random.step(NpbRandom::power(NpbRandom::usual_factor, 4 * static_cast<std::uint64_t>(own_.first)));
    for (long i = own_.first; i < own_.end; ++i) {
      double sum = random.next();
      for (int more = 0; more < 3; ++more) sum += random.next();
      made_.push_back(static_cast<Key>(static_cast<double>(largest() / 4) * sum));
    }
  }

  /// Before the first iteration.
  void begin() {
    keys_ = made_;
    verified_ = ranked_ = 0;
  }
  /// NPB changes two keys in each iteration, the first of which is 1.
  void change(int iteration) {
    put(iteration, static_cast<Key>(iteration));
    put(iteration + iterations, static_cast<Key>(largest() - iteration));
  }
  /// Counts the rank's keys by buckets: what an allreduce adds up into `all_sizes`.
  const std::vector<Size>& count_buckets() {
    std::fill(sizes_.begin(), sizes_.end(), 0);
    for (const Key key : keys_) ++sizes_[bucket_of(key)];
    for (std::size_t i = 0; i < tests; ++i)
      if (mine(problem_.place[i])) sizes_[buckets() + i] = key_at(problem_.place[i]);
    return sizes_;
  }
  std::vector<Size>& all_sizes() { return all_sizes_; }
  std::size_t made() const { return made_.size(); }

  /// Writes the rank's keys to `to` by buckets. The result: how many of them go to each rank, in rank order.
  /// Ranks get whole buckets until they have their part of all keys; the last one gets the rest.
  const std::vector<std::size_t>& deal_out(Key* to) {
    std::vector<std::size_t> next(buckets());
    std::size_t before = 0;
    for (std::size_t b = 0; b < buckets(); ++b) {
      next[b] = before;
      before += static_cast<std::size_t>(sizes_[b]);
    }
    for (const Key key : keys_) to[next[bucket_of(key)]++] = key;

    const int shift = problem_.log_largest - problem_.log_buckets;
    const int last = ranks_ - 1;
    int r = 0;
    long keys = 0;
    std::fill(counts_.begin(), counts_.end(), 0);
    least_ = past_ = static_cast<Key>(largest());
    for (std::size_t b = 0; b < buckets(); ++b) {
      while (r < last && keys >= share_of(1L << problem_.log_keys, r, ranks_).end) ++r;
      if (r == rank_) {
        if (least_ == largest()) {
          least_ = static_cast<Key>(b << shift);
          lower_ = keys;
        }
        past_ = static_cast<Key>((b + 1) << shift);
      }
      counts_[static_cast<std::size_t>(r)] += static_cast<std::size_t>(sizes_[b]);
      keys += all_sizes_[b];
    }
    // Keys of the rank's buckets begin with least_; below_[k]: keys of all ranks up to least_ + k.
    below_.assign(static_cast<std::size_t>(past_ - least_), 0);
    return counts_;
  }
  /// Counts keys that came.
  void count(const Key* keys, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) ++below_[static_cast<std::size_t>(keys[i] - least_)];
  }
  /// Once all have come: the ranks of the rank's keys, and NPB's test of five of them.
  void rank_keys(int iteration) {
    long sum = lower_;
    for (long& each : below_) each = sum += each;
    for (int i = 0; i < tests; ++i) {
      const auto key = static_cast<Key>(all_sizes_[buckets() + static_cast<std::size_t>(i)]);
      if (key < least_ || key >= past_) continue;
      const long rank = key == least_ ? lower_ : below_[static_cast<std::size_t>(key - least_ - 1)];
      const long expected = problem_.rank[i] + (i < problem_.rising ? problem_.rising_shift + iteration
                                                                    : problem_.falling_shift - iteration);
      verified_ += rank == expected;
    }
    ranked_ = iteration;
  }

  /// All that NPB verifies: its keys' ranks in each iteration; and, at the end, that the keys are in order
  /// and as many as before. All ranks call it.
  template <class Context>
  ProgramCheck check(Context& context) const {
    const std::vector<Key> sorted = in_order();
    std::vector<double> ends(2 * static_cast<std::size_t>(ranks_)), own(2, -1.0);
    if (!sorted.empty()) own = {static_cast<double>(sorted.front()), static_cast<double>(sorted.back())};
    context.allgather(own.data(), ends.data(), 2 * sizeof(double));
    ends.erase(std::remove(ends.begin(), ends.end(), -1.0), ends.end());
    double here[2] = {static_cast<double>(sorted.size()), static_cast<double>(verified_)}, all[2];
    context.allreduce(here, all, 2);
    if (!std::is_sorted(ends.begin(), ends.end()) || !std::is_sorted(sorted.begin(), sorted.end()))
      all[0] = -1;
    if (all[0] != static_cast<double>(1L << problem_.log_keys))
      return {"number of keys in order", all[0], static_cast<double>(1L << problem_.log_keys), 0};
    return {"verifications passed", all[1], static_cast<double>(tests * ranked_), 0};
  }

 private:
  std::size_t buckets() const { return std::size_t{1} << problem_.log_buckets; }
  long largest() const { return 1L << problem_.log_largest; }
  std::size_t bucket_of(Key key) const {
    return static_cast<std::size_t>(key >> (problem_.log_largest - problem_.log_buckets));
  }
  bool mine(long place) const { return place >= own_.first && place < own_.end; }
  Key& key_at(long place) { return keys_[static_cast<std::size_t>(place - own_.first)]; }
  void put(long place, Key key) {
    if (mine(place)) key_at(place) = key;
  }

  /// The rank's keys after the last iteration, sorted by what was counted.
  std::vector<Key> in_order() const {
    std::vector<Key> sorted;
    long before = lower_;
    for (std::size_t k = 0; k < below_.size(); ++k) {
      sorted.insert(sorted.end(), static_cast<std::size_t>(below_[k] - before), least_ + static_cast<Key>(k));
      before = below_[k];
    }
    return sorted;
  }

  Problem problem_;
  Share own_;
  int rank_, ranks_;
  std::vector<Key> made_, keys_;
  std::vector<Size> sizes_, all_sizes_;  // of buckets, then the keys that are verified
  std::vector<std::size_t> counts_;
  std::vector<long> below_;
  Key least_ = 0, past_ = 0;  // the rank's keys lie between
  long lower_ = 0;            // keys of ranks before
  int verified_ = 0, ranked_ = 0;
};

}  // namespace programs
}  // namespace phicoll
