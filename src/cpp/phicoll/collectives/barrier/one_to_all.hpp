#pragma once

// One-to-all barrier. Source: velamati-2007 section 3.2 ("OTA"): each rank sets its entry in an array at the
// root; the root waits for all entries and then sets a flag at each rank.
//
// The array's entries are 16 bytes (section 3.1), several ranks' in a line, as in the paper, where it lies in
// the root's local store; `layout=lines` gives each its own. The paper sets and unsets the flags here and
// numbers them elsewhere; numbers spare half of the stores and are the default. The root sets the flags by
// puts or by one list of transfers.

#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/contract/reset.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

struct OneToAll : AlgorithmDefaults {
  enum class Layout : unsigned char { packed, lines };
  enum class Transfer : unsigned char { puts, list };

  struct Parameters {
    Layout layout = Layout::packed;
    Reset reset = Reset::episode;
    StorePolicy store = StorePolicy::plain;
    Transfer transfer = Transfer::puts;
  };

  static AlgorithmFacts facts() {
    return {"one-to-all", Origin::paper, "velamati-2007 section 3.2, OTA",
            "every rank sets an entry of the root's array; the root then sets a flag at every rank"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.choice("layout", p.layout, {"packed", "lines"},
                   "entries of 16 bytes in the root's array, or a line for each");
    describe_unset(visitor, p.reset);
    describe_store(visitor, p.store);
    visitor.choice("transfer", p.transfer, {"puts", "list"},
                   "the root sets flags one by one, or on machines with local stores by a list of transfers");
  }

  /// Whole-line stores destroy a line's other entries.
  static const char* refuse(const Parameters& p) {
    return p.store != StorePolicy::plain && p.layout == Layout::packed
               ? "store=plain unless layout=lines, where an entry owns its line"
               : nullptr;
  }

  using Line = SoleWriterLine<std::uint64_t>;
  static std::size_t entry_bytes(const Parameters& p, const Shape& shape) {
    return p.layout == Layout::packed ? 16 : shape.stride();
  }
  /// The ranks' flags follow the root's array.
  static std::size_t flags_offset(const Parameters& p, const Shape& shape) {
    return shape.whole_strides(static_cast<std::size_t>(shape.size()) * entry_bytes(p, shape));
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return flags_offset(p, shape) + StridedLines<Line>::bytes(shape, shape.size());
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : entries_(setup.at<unsigned char>(0)),
          flags_(setup, flags_offset(p, setup.shape)),
          entry_bytes_(entry_bytes(p, setup.shape)),
          rank_(setup.rank),
          size_(setup.size()),
          reset_(p.reset),
          store_(p.store),
          transfer_(p.transfer) {}

    void operator()(Port& port) {
      ++episode_;
      if (reset_ == Reset::episode) {
        run(port, at_least(episode_));
      } else {
        run(port, equal(std::uint64_t{1}));
      }
    }

   private:
    Word<std::uint64_t>& entry(int rank) {
      return *reinterpret_cast<Word<std::uint64_t>*>(entries_ +
                                                     static_cast<std::size_t>(rank) * entry_bytes_);
    }

    void run(Port& port, Condition<std::uint64_t> set) {
      Line& flag = flags_[rank_];
      if (rank_ != 0) {
        if (store_ == StorePolicy::plain) {
          port.signal(entry(rank_), set.value);
        } else {
          // refuse() saw to it that the entry owns its line.
          port.signal(reinterpret_cast<Line&>(entry(rank_)), set.value, store_);
        }
        port.wait(flag.word, set, 0);
        // Relaxed: the root sets this flag again only after it has acquired this rank's next arrival.
        if (reset_ == Reset::unset) port.store_relaxed(flag.word, std::uint64_t{0});
        return;
      }
      for (int r = 1; r < size_; ++r) port.wait(entry(r), set, r);
      // Relaxed: the releases below make it visible to each rank before that rank can set its entry again.
      if (reset_ == Reset::unset)
        for (int r = 1; r < size_; ++r) port.store_relaxed(entry(r), std::uint64_t{0});
      if (transfer_ == Transfer::list) return port.signal_each(flags_, 1, size_, set.value, store_);
      for (int r = 1; r < size_; ++r) port.signal(flags_[r], set.value, store_);
    }

    unsigned char* entries_;
    StridedLines<Line> flags_;
    std::size_t entry_bytes_;
    std::uint64_t episode_ = 0;
    int rank_;
    int size_;
    Reset reset_;
    StorePolicy store_;
    Transfer transfer_;
  };
};

}  // namespace phicoll
