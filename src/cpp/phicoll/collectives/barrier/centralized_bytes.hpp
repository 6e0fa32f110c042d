#pragma once

// Paper 000's Centralized-I. Source: panigrahi-2014 section V: "the shared memory segment consists of P
// bytes". Each rank sets its byte and polls on it until the root, which has seen all bytes set, unsets it
// again.
//
// The bytes are packed on purpose: 64 ranks share a line, and the root unsets a line at a time, as the
// paper's compiler did when it vectorised that loop (section VI gives this as the reason why it beats
// Centralized-II). One flag that one side sets and the other unsets is the algorithm, so there is no other
// reset rule.

#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

struct CentralizedBytes : AlgorithmDefaults {
  enum class Release : unsigned char { lines, bytes };

  struct Parameters {
    Release release = Release::lines;
  };

  static AlgorithmFacts facts() {
    return {"centralized-bytes", Origin::paper, "panigrahi-2014 section V, Centralized-I",
            "every rank sets a byte of its own and polls on it until the root unsets all of them"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.choice("release", p.release, {"lines", "bytes"},
                   "how the root unsets the flags: 64 bytes at a time, or one after another");
  }

  static std::size_t footprint(const Parameters&, const Shape& shape) {
    return arch::whole_lines(static_cast<std::size_t>(shape.size()));
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : lines_(setup.at<ByteLine>(0)), rank_(setup.rank), size_(setup.size()), release_(p.release) {}

    void operator()(Port& port) {
      if (rank_ != root) {
        // The arrival, a release: the root then has all that this rank wrote before. Until the byte reads 0
        // again only the root may write it.
        port.signal(flag(rank_), set);
        port.wait(flag(rank_), equal(unset), root);
        return;
      }
      for (int r = 1; r < size_; ++r) port.wait(flag(r), equal(set), r);
      // Every byte is set and every other rank polls: the root is the sole writer of all the lines now, and
      // what it acquired from each rank above it hands to all by the releases below.
      if (release_ == Release::bytes) {
        for (int r = 1; r < size_; ++r) port.signal(flag(r), unset);
        return;
      }
      // Several bytes a store. A rank that is released sets its byte again at once, perhaps while the rest of
      // the line is still being stored. But each byte is stored once, together with neighbours whose ranks
      // all still wait, so nothing that came later is overwritten.
      for (int first = 0; first < size_; first += static_cast<int>(arch::line_bytes))
        port.signal_bytes(lines_[static_cast<std::size_t>(first) / arch::line_bytes], unset);
    }

   private:
    static constexpr int root = 0;
    static constexpr std::uint8_t set = 1;
    static constexpr std::uint8_t unset = 0;

    Word<std::uint8_t>& flag(int rank) {
      const auto r = static_cast<std::size_t>(rank);
      return lines_[r / arch::line_bytes].bytes[r % arch::line_bytes];
    }

    ByteLine* lines_;
    int rank_;
    int size_;
    Release release_;
  };
};

template <class Port>
constexpr int CentralizedBytes::Rank<Port>::root;
template <class Port>
constexpr std::uint8_t CentralizedBytes::Rank<Port>::set;
template <class Port>
constexpr std::uint8_t CentralizedBytes::Rank<Port>::unset;

}  // namespace phicoll
