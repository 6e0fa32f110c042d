#pragma once

// IS of the NAS Parallel Benchmarks (their report, section 2.7): integers are ranked by buckets. In each of
// ten iterations an allreduce adds up the buckets' sizes, and each rank sends its keys to the ranks that got
// their buckets, by an alltoall of counts and one of the keys, as NPB's MPI program does.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "phicoll/programs/context.hpp"
#include "phicoll/programs/npb_random.hpp"
#include "phicoll/programs/program.hpp"

namespace phicoll {
namespace programs {

struct Is {
  static ProgramFacts facts() {
    return {"is", Operation::alltoall, "NPB 3, IS; namashivayam-2014, section 6",
            "integer sort by buckets: an allreduce of sizes and an alltoall of all keys in each iteration"};
  }
  static std::vector<ProblemClass> classes() {
    return {{'S', "2^16 keys below 2^11"}, {'W', "2^20 keys below 2^16"}, {'A', "2^23 keys below 2^19"}};
  }
  using Key = std::int32_t;
  static constexpr int tests = 5;
  static constexpr int iterations = 10;
  struct Problem {
    int log_keys, log_largest, log_buckets;
    long place[tests];  ///< of the keys that NPB verifies in each iteration
    long rank[tests];   ///< what their ranks are, before the shifts
    int rising;         ///< so many of these rise with the iterations, the others fall
    int rising_shift, falling_shift;
  };
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
      default:
        return {16, 11, 9, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}, 3, 0, 0};
    }
  }
  static const char* ranks_allowed(char, int ranks) {
    return ranks <= 512 ? nullptr : "no more ranks than 512 buckets";
  }
  static std::size_t shared_bytes(char, int) { return 0; }
  static std::size_t message_bytes(char) { return sizeof(std::int64_t); }

  template <class Context>
  class Rank {
   public:
    Rank(Context& context, char letter)
        : context_(context),
          problem_(problem(letter)),
          own_(share_of(1L << problem_.log_keys, context.rank(), context.size())),
          sizes_(buckets() + tests),
          all_sizes_(sizes_.size()) {
      NpbRandom random;
      if (own_.first > 0)
        random.step(NpbRandom::power(NpbRandom::usual_factor, 4 * static_cast<std::uint64_t>(own_.first)));
      for (long i = own_.first; i < own_.end; ++i) {
        double sum = random.next();
        for (int more = 0; more < 3; ++more) sum += random.next();
        keys_.push_back(static_cast<Key>(static_cast<double>(largest() / 4) * sum));
      }
      made_ = keys_;
      sorted_.resize(keys_.size());
      for (auto* each : {&at_, &bytes_, &came_at_, &came_bytes_})
        each->resize(static_cast<std::size_t>(context.size()));
    }

    void run() {
      keys_ = made_;
      verified_ = 0;
      for (int iteration = 1; iteration <= iterations; ++iteration) {
        put(iteration, static_cast<Key>(iteration));
        put(iteration + iterations, static_cast<Key>(largest() - iteration));
        rank_keys();
        verify(iteration);
      }
    }

    /// All that NPB verifies: its keys' ranks in each iteration; and, at the end, that the keys are in order
    /// and as many as before.
    ProgramCheck check() {
      const std::vector<Key> sorted = in_order();
      std::vector<double> ends(2 * static_cast<std::size_t>(context_.size())), own(2, -1.0);
      if (!sorted.empty()) own = {static_cast<double>(sorted.front()), static_cast<double>(sorted.back())};
      context_.allgather(own.data(), ends.data(), 2 * sizeof(double));
      ends.erase(std::remove(ends.begin(), ends.end(), -1.0), ends.end());
      double here[2] = {static_cast<double>(sorted.size()), static_cast<double>(verified_)}, all[2];
      context_.allreduce(here, all, 2);
      if (!std::is_sorted(ends.begin(), ends.end()) || !std::is_sorted(sorted.begin(), sorted.end()))
        all[0] = -1;
      if (all[0] != static_cast<double>(1L << problem_.log_keys))
        return {"number of keys in order", all[0], static_cast<double>(1L << problem_.log_keys), 0};
      return {"verifications passed", all[1], double{tests * iterations}, 0};
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

    /// Sends every key to the rank that has its bucket, and counts there.
    void rank_keys() {
      std::fill(sizes_.begin(), sizes_.end(), 0.0);
      for (const Key key : keys_) sizes_[bucket_of(key)] += 1;
      for (std::size_t i = 0; i < tests; ++i)
        if (mine(problem_.place[i])) sizes_[buckets() + i] = key_at(problem_.place[i]);
      context_.allreduce(sizes_.data(), all_sizes_.data(), sizes_.size());
      std::vector<std::size_t> next(buckets());
      std::size_t before = 0;
      for (std::size_t b = 0; b < buckets(); ++b) {
        next[b] = before;
        before += static_cast<std::size_t>(sizes_[b]);
      }
      for (const Key key : keys_) sorted_[next[bucket_of(key)]++] = key;
      deal_out();
      context_.alltoall(bytes_.data(), came_bytes_.data(), sizeof(std::size_t));
      std::size_t all = 0;
      for (std::size_t r = 0; r < came_at_.size(); ++r) {
        came_at_[r] = all;
        all += came_bytes_[r];
      }
      came_.resize(all / sizeof(Key));
      context_.alltoallv(sorted_.data(), bytes_.data(), at_.data(), came_.data(), came_bytes_.data(),
                         came_at_.data());
      // Keys of the rank's buckets begin with least_; below_[k]: keys of all ranks up to least_ + k.
      below_.assign(static_cast<std::size_t>(past_ - least_), 0);
      for (const Key key : came_) ++below_[static_cast<std::size_t>(key - least_)];
      long sum = lower_;
      for (long& count : below_) count = sum += count;
    }

    /// Ranks get whole buckets, in order, until they have their part of all keys; the last one gets the rest.
    void deal_out() {
      const int shift = problem_.log_largest - problem_.log_buckets;
      const auto last = static_cast<std::size_t>(context_.size()) - 1;
      std::size_t r = 0, sent = 0;
      long keys = 0;
      std::fill(bytes_.begin(), bytes_.end(), 0);
      least_ = past_ = static_cast<Key>(largest());
      for (std::size_t b = 0; b < buckets(); ++b) {
        while (r < last &&
               keys >= share_of(1L << problem_.log_keys, static_cast<int>(r), context_.size()).end)
          ++r;
        const auto first = static_cast<Key>(b << shift);
        if (r == static_cast<std::size_t>(context_.rank())) {
          if (least_ == largest()) {
            least_ = first;
            lower_ = keys;
          }
          past_ = static_cast<Key>((b + 1) << shift);
        }
        bytes_[r] += static_cast<std::size_t>(sizes_[b]) * sizeof(Key);
        keys += static_cast<long>(all_sizes_[b]);
      }
      for (std::size_t to = 0; to <= last; ++to) {
        at_[to] = sent;
        sent += bytes_[to];
      }
    }

    /// NPB's test of an iteration: the ranks of five keys.
    void verify(int iteration) {
      for (int i = 0; i < tests; ++i) {
        const auto key = static_cast<Key>(all_sizes_[buckets() + static_cast<std::size_t>(i)]);
        if (key < least_ || key >= past_) continue;
        const long rank = key == least_ ? lower_ : below_[static_cast<std::size_t>(key - least_ - 1)];
        const long expected = problem_.rank[i] + (i < problem_.rising ? problem_.rising_shift + iteration
                                                                      : problem_.falling_shift - iteration);
        verified_ += rank == expected;
      }
    }

    /// The rank's keys after the last iteration, sorted by what was counted.
    std::vector<Key> in_order() const {
      std::vector<Key> sorted;
      long before = lower_;
      for (std::size_t k = 0; k < below_.size(); ++k) {
        sorted.insert(sorted.end(), static_cast<std::size_t>(below_[k] - before),
                      least_ + static_cast<Key>(k));
        before = below_[k];
      }
      return sorted;
    }

    Context& context_;
    Problem problem_;
    Share own_;
    std::vector<Key> made_, keys_, sorted_, came_;
    std::vector<double> sizes_, all_sizes_;  // of buckets, then the keys that are verified; whole numbers
    std::vector<std::size_t> at_, bytes_, came_at_, came_bytes_;
    std::vector<long> below_;
    Key least_ = 0, past_ = 0;  // the rank's keys lie between
    long lower_ = 0;            // keys of ranks before
    int verified_ = 0;
  };
};

}  // namespace programs
}  // namespace phicoll
