#pragma once

// Bandwidth of pairs of ranks that copy messages from each other at the same time. Source: 004 appendix A
// (figure A.1): the multi-line ping-pong between several pairs, all buffers in memory, and three ways to
// place the pairs. A sample is half of a round trip of one pair, and counts one message: the sender reads two
// buffers for it, its own and the one it writes to.

#include "phicoll/kernels/exchange.hpp"

namespace phicoll {
namespace kernels {

struct PairBandwidth {
  static KernelFacts facts() {
    return {"pair-bandwidth", "ramos-hoefler-2013, appendix A",
            "Pairs of ranks that copy messages from each other at the same time.",
            "half of one round trip of one pair"};
  }

  struct Parameters {
    Pairing pattern = Pairing::grouped;
    LineState state = LineState::invalid;
    LineState receive = LineState::invalid;
    int lines = 1024;
  };
  template <class Visitor>
  static void describe(Visitor& v, Parameters& p) {
    describe_pairing(v, p.pattern);
    describe_state(v, "state", p.state, "state of the send buffers");
    describe_state(v, "receive", p.receive, "state of the receive buffers, but for the polled last line");
    v.integer("lines", p.lines, 1, 1 << 20, "lines of 64 bytes in a message");
  }

  static const char* ranks_allowed(const Parameters& p, int ranks) {
    return Exchange::ranks_allowed(p.pattern, ranks);
  }
  static std::size_t footprint(const Parameters& p, int ranks) { return exchange(p).footprint(ranks); }
  static const char* where(const Parameters& p) {
    return p.pattern == Pairing::across ? "across-packages" : "scatter";
  }
  static int per_sample(const Parameters&, int) { return 2; }
  static std::size_t bytes(const Parameters& p) { return exchange(p).bytes(); }

  template <class Port>
  static void run(Port& port, const Parameters& p, const KernelRun& run, RankSamples& samples) {
    exchange(p).copy_whole(port, run, samples);
  }

 private:
  static Exchange exchange(const Parameters& p) {
    return {p.state, p.receive, static_cast<std::size_t>(p.lines), true, p.pattern};
  }
};

}  // namespace kernels
}  // namespace phicoll
