#pragma once

// Two ranks exchange single lines: each copies a word of its send line into the other's receive line, which
// the other polls. Source: 004 chapter 2. A receive line in memory cannot be had: its receiver polls it.

#include "phicoll/kernels/exchange.hpp"

namespace phicoll {
namespace kernels {

struct PingPong {
  static KernelFacts facts() {
    return {"ping-pong", "ramos-hoefler-2013, chapter 2", "A line there and a line back, with four buffers.",
            "half of one round trip"};
  }

  struct Parameters {
    LineState state = LineState::exclusive;
    LineState receive = LineState::exclusive;
  };
  template <class Visitor>
  static void describe(Visitor& v, Parameters& p) {
    describe_state(v, "state", p.state, "state of both send lines");
    v.choice("receive", p.receive, {"M", "E", "S", "F"}, "state of both receive lines; polled, so never I");
  }

  static const char* ranks_allowed(const Parameters&, int ranks) {
    return Exchange::ranks_allowed(Pairing::neighbours, ranks);
  }
  static std::size_t footprint(const Parameters& p, int ranks) { return exchange(p).footprint(ranks); }
  static const char* where(const Parameters&) { return "scatter"; }
  static int per_sample(const Parameters&, int) { return 2; }
  static std::size_t bytes(const Parameters&) { return 0; }

  template <class Port>
  static void run(Port& port, const Parameters& p, const KernelRun& run, RankSamples& samples) {
    exchange(p).transfer_by(port, run, samples, [](Port& by, unsigned char* to, unsigned char* from) {
      by.signal(last_word(to, 1), by.load_relaxed(last_word(from, 1)));
    });
  }

 private:
  static Exchange exchange(const Parameters& p) {
    return {p.state, p.receive, 1, false, Pairing::neighbours};
  }
};

}  // namespace kernels
}  // namespace phicoll
