#pragma once

// IS of the NAS Parallel Benchmarks (their report, section 2.7): integers are ranked by buckets. In each of
// ten iterations an allreduce adds up the buckets' sizes, and each rank sends its keys to the ranks that got
// their buckets, by an alltoall of counts and one of the keys, as NPB's MPI program does.

#include <vector>

#include "phicoll/programs/is_keys.hpp"

namespace phicoll {
namespace programs {

struct Is {
  static ProgramFacts facts() {
    return {"is", Operation::alltoall, "NPB 3, IS; namashivayam-2014, section 6",
            "integer sort by buckets: an allreduce of sizes and an alltoall of all keys in each iteration"};
  }
  static std::vector<ProblemClass> classes() { return IsKeys::classes(); }
  static const char* ranks_allowed(char, int ranks) { return IsKeys::ranks_allowed(ranks); }
  static std::size_t shared_bytes(char, int) { return 0; }
  static std::size_t message_bytes(char) { return sizeof(std::int64_t); }

  template <class Context>
  class Rank {
   public:
    Rank(Context& context, char letter)
        : context_(context), keys_(letter, context.rank(), context.size()), sorted_(keys_.made()) {
      for (auto* each : {&at_, &bytes_, &came_at_, &came_bytes_})
        each->resize(static_cast<std::size_t>(context.size()));
    }

    void run() {
      keys_.begin();
      for (int iteration = 1; iteration <= IsKeys::iterations; ++iteration) {
        keys_.change(iteration);
        const std::vector<IsKeys::Size>& sizes = keys_.count_buckets();
        context_.allreduce(sizes.data(), keys_.all_sizes().data(), sizes.size());
        const std::vector<std::size_t>& counts = keys_.deal_out(sorted_.data());
        for (std::size_t r = 0; r < counts.size(); ++r) bytes_[r] = counts[r] * sizeof(Key);
        context_.alltoall(bytes_.data(), came_bytes_.data(), sizeof(std::size_t));
        places_of(bytes_, at_);
        came_.resize(places_of(came_bytes_, came_at_) / sizeof(Key));
        context_.alltoallv(sorted_.data(), bytes_.data(), at_.data(), came_.data(), came_bytes_.data(),
                           came_at_.data());
        keys_.count(came_.data(), came_.size());
        keys_.rank_keys(iteration);
      }
    }

    ProgramCheck check() { return keys_.check(context_); }

   private:
    using Key = IsKeys::Key;
    /// Where pieces of these bytes begin that lie one after another; the result: all their bytes.
    static std::size_t places_of(const std::vector<std::size_t>& bytes, std::vector<std::size_t>& at) {
      std::size_t all = 0;
      for (std::size_t r = 0; r < bytes.size(); ++r) {
        at[r] = all;
        all += bytes[r];
      }
      return all;
    }

    Context& context_;
    IsKeys keys_;
    std::vector<Key> sorted_, came_;
    std::vector<std::size_t> at_, bytes_, came_at_, came_bytes_;
  };
};

}  // namespace programs
}  // namespace phicoll
