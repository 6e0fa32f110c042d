#pragma once

// The ping-pong of messages of many lines: the sender copies its send buffer into the other's receive buffer,
// the receiver polls the canary in the last line and reads nothing else. Source: 004 section 3.1
// (appendix A has more pairs and other ways to place them: pair_bandwidth.hpp). A receive buffer in state I
// is so but for its last line, which is polled.

#include "phicoll/kernels/exchange.hpp"

namespace phicoll {
namespace kernels {

struct MultiLine {
  static KernelFacts facts() {
    return {"multi-line", "ramos-hoefler-2013, section 3.1", "A message of many lines there and back.",
            "half of one round trip"};
  }

  struct Parameters {
    LineState state = LineState::exclusive;
    LineState receive = LineState::exclusive;
    int lines = 8;
  };
  template <class Visitor>
  static void describe(Visitor& v, Parameters& p) {
    describe_state(v, "state", p.state, "state of both send buffers");
    describe_state(v, "receive", p.receive, "state of both receive buffers");
    v.integer("lines", p.lines, 1, 1 << 20, "lines of 64 bytes in a message");
  }

  static const char* ranks_allowed(const Parameters&, int ranks) {
    return Exchange::ranks_allowed(Pairing::neighbours, ranks);
  }
  static std::size_t footprint(const Parameters& p, int ranks) { return exchange(p).footprint(ranks); }
  static const char* where(const Parameters&) { return "scatter"; }
  static int per_sample(const Parameters&, int) { return 2; }
  static std::size_t bytes(const Parameters& p) { return exchange(p).bytes(); }

  template <class Port>
  static void run(Port& port, const Parameters& p, const KernelRun& run, RankSamples& samples) {
    exchange(p).copy_whole(port, run, samples);
  }

 private:
  static Exchange exchange(const Parameters& p) {
    return {p.state, p.receive, static_cast<std::size_t>(p.lines), true, Pairing::neighbours};
  }
};

}  // namespace kernels
}  // namespace phicoll
