#pragma once

// IS of the NAS Parallel Benchmarks over OpenSHMEM (paper 003, section 6): keys are put into the memory of
// the rank that has their bucket, or got from those that had them; or that rank counts them where they lie,
// by the loads that shmem_ptr allows. The allreduce of the buckets' sizes is the collective that is compared.

#include <vector>

#include "phicoll/programs/is_keys.hpp"
#include "phicoll/programs/symmetric.hpp"

namespace phicoll {
namespace programs {

struct IsShmem {
  static ProgramFacts facts() {
    return {"is-shmem",
            Operation::allreduce,
            "NPB 3, IS; namashivayam-2014, section 6",
            "integer sort over OpenSHMEM: an allreduce of sizes, and keys by put, get or loads",
            {{"put", "keys are put to the rank that has their bucket"},
             {"get", "a rank gets its keys"},
             {"loads", "a rank loads its keys where they lie, through shmem_ptr"}}};
  }
  enum Way : int { put, get, loads };
  static std::vector<ProblemClass> classes() { return IsKeys::classes(); }
  static const char* ranks_allowed(char, int ranks) { return IsKeys::ranks_allowed(ranks); }
  static std::size_t message_bytes(char letter) { return IsKeys::sizes(letter) * sizeof(IsKeys::Size); }
  static std::size_t shared_bytes(char letter, int ranks) {
    SharedPieces pieces(nullptr);
    Arrays(pieces, letter, ranks);
    return pieces.bytes();
  }

  /// Keys one after another in a rank's array.
  struct Piece {
    std::int64_t first, count;
  };
  struct Arrays {
    Arrays(SharedPieces& memory, char letter, int ranks)
        : pieces(memory, static_cast<std::size_t>(ranks), ranks),
          places(memory, static_cast<std::size_t>(ranks), ranks),
          sorted(memory, IsKeys::most_made(letter, ranks), ranks),
          came(memory, IsKeys::most_received(letter, ranks), ranks) {}
    Symmetric<Piece> pieces;         ///< for each rank, or from each
    Symmetric<std::int64_t> places;  ///< where each rank wants one's keys
    Symmetric<IsKeys::Key> sorted;   ///< the rank's own keys by buckets
    Symmetric<IsKeys::Key> came;
  };

  template <class Context>
  class Rank {
   public:
    Rank(Context& context, char letter, int way)
        : context_(context),
          way_(way),
          me_(context.rank()),
          ranks_(context.size()),
          keys_(letter, me_, ranks_),
          memory_(context.shared()),
          arrays_(memory_, letter, ranks_) {}

    /// 1. A rank writes to its own arrays for others only after the allreduce, which no rank enters before it
    ///    has read what it wants of the iteration before.
    /// 2. The barrier tells all that these are written. Two more do so for what is put.
    void run() {
      keys_.begin();
      for (int i = 0; context_.begins_iteration(i, IsKeys::iterations); ++i) {
        keys_.change(i + 1);
        const std::vector<IsKeys::Size>& sizes = keys_.count_buckets();
        context_.computes(3 * own_keys());
        context_.allreduce(sizes.data(), keys_.all_sizes().data(), sizes.size());
        const std::vector<std::size_t>& counts = keys_.deal_out(arrays_.sorted.of(me_));
        context_.writes(arrays_.sorted.of(me_), keys_.made());
        context_.computes(5 * own_keys() + 4 * static_cast<long>(sizes.size()));
        if (way_ == put)
          put_keys(counts);
        else
          take_keys(counts);
        keys_.rank_keys(i + 1);
      }
    }

    ProgramCheck check() { return keys_.check(context_); }

   private:
    using Key = IsKeys::Key;
    long own_keys() const { return static_cast<long>(keys_.made()); }
    /// Each rank begins with another one.
    int nth(int i) const { return (me_ + i) % ranks_; }

    /// Ranks tell each other how many keys come, and then where they have room for them.
    void put_keys(const std::vector<std::size_t>& counts) {
      std::vector<Piece> own(counts.size());
      std::int64_t at = 0;
      for (std::size_t r = 0; r < counts.size(); ++r) {
        own[r] = {at, static_cast<std::int64_t>(counts[r])};
        at += own[r].count;
      }
      for (int i = 0; i < ranks_; ++i) {
        const int r = nth(i);
        context_.put(arrays_.pieces.of(r) + me_, &own[static_cast<std::size_t>(r)], 1);
      }
      context_.barrier();
      std::int64_t all = 0;
      const Piece* const coming = arrays_.pieces.of(me_);
      context_.reads(coming, counts.size());
      for (int r = 0; r < ranks_; ++r) {
        context_.put(arrays_.places.of(r) + me_, &all, 1);
        all += coming[r].count;
      }
      context_.barrier();
      const std::int64_t* const places = arrays_.places.of(me_);
      context_.reads(places, counts.size());
      for (int i = 0; i < ranks_; ++i) {
        const int r = nth(i);
        const Piece& piece = own[static_cast<std::size_t>(r)];
        context_.put(arrays_.came.of(r) + places[r], arrays_.sorted.of(me_) + piece.first,
                     static_cast<std::size_t>(piece.count));
      }
      context_.barrier();
      count(arrays_.came.of(me_), static_cast<std::size_t>(all));
    }

    void take_keys(const std::vector<std::size_t>& counts) {
      Piece* const own = arrays_.pieces.of(me_);
      std::int64_t at = 0;
      for (std::size_t r = 0; r < counts.size(); ++r) {
        own[r] = {at, static_cast<std::int64_t>(counts[r])};
        at += own[r].count;
      }
      context_.writes(own, counts.size());
      context_.barrier();
      for (int i = 0; i < ranks_; ++i) {
        const int r = nth(i);
        const Piece* const theirs = arrays_.pieces.of(r) + me_;
        if (way_ == loads) {
          context_.reads(theirs, 1);
          count(arrays_.sorted.of(r) + theirs->first, static_cast<std::size_t>(theirs->count));
          continue;
        }
        Piece piece;
        context_.get(&piece, theirs, 1);
        const auto keys = static_cast<std::size_t>(piece.count);
        context_.get(arrays_.came.of(me_), arrays_.sorted.of(r) + piece.first, keys);
        count(arrays_.came.of(me_), keys);
      }
    }

    void count(const Key* keys, std::size_t n) {
      context_.reads(keys, n);
      context_.computes(3 * static_cast<long>(n));
      keys_.count(keys, n);
    }

    Context& context_;
    int way_, me_, ranks_;
    IsKeys keys_;
    SharedPieces memory_;
    Arrays arrays_;
  };
};

}  // namespace programs
}  // namespace phicoll
