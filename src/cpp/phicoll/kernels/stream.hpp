#pragma once

// STREAM (McCalpin 1995), as 000 section IV uses it: copy c = a, scale b = q c, add c = a + b and triad a = b
// + q c over arrays of doubles. Each rank has its own part; all start together. Bytes are counted as STREAM
// does: what is read and written, not the lines read in order to write them. Over OpenSHMEM (003 section 4.2)
// the arrays are either accessed in place through shmem_ptr, or got block by block into the rank's buffer,
// computed there and put back.

#include <algorithm>

#include "phicoll/kernels/kernel_run.hpp"
#include "phicoll/kernels/line_state.hpp"
#include "phicoll/kernels/meeting.hpp"
#include "phicoll/kernels/one_sided.hpp"
#include "phicoll/memory/policies.hpp"

namespace phicoll {
namespace kernels {

struct Stream {
  static KernelFacts facts() {
    return {"stream", "panigrahi-2014, section IV (McCalpin 1995)",
            "Bandwidth of memory: copy, scale, add, triad.",
            "one rank's time for its part; a bandwidth is all ranks' bytes by the slowest rank's time"};
  }

  enum class Operation : unsigned char { copy, scale, add, triad };
  enum class Start : unsigned char { evicted, warm };
  enum class Way : unsigned char { in_place, put_get };
  struct Parameters {
    Operation operation = Operation::triad;
    int lines = 4096;
    StorePolicy store = StorePolicy::plain;
    int ahead = 4;
    Start start = Start::evicted;
    Way way = Way::in_place;
    int block = 128;
    int call = 0;
  };
  template <class Visitor>
  static void describe(Visitor& v, Parameters& p) {
    v.choice("operation", p.operation, {"copy", "scale", "add", "triad"},
             "c = a, b = q c, c = a + b, a = b + q c");
    v.integer("lines", p.lines, 1, 1 << 22, "lines of 64 bytes that a rank has of each of the three arrays");
    v.choice("store", p.store, {"plain", "no-read", "no-read-unordered"},
             "how a line is written: read first, or stored whole");
    v.integer("ahead", p.ahead, 0, 1024, "lines between a prefetch and its use; 0 for no prefetch");
    v.choice("start", p.start, {"evicted", "warm"}, "whether each rank drops its part from its cache before");
    v.choice("way", p.way, {"in-place", "put-get"},
             "loads and stores in the arrays, or blocks got into a buffer and put back");
    v.integer("block", p.block, 1, 1 << 16, "lines that a put or get moves");
    v.integer("call", p.call, 0, 1000000, "ticks that each put or get takes before its copy");
  }

  static const char* ranks_allowed(const Parameters&, int) { return nullptr; }
  static std::size_t footprint(const Parameters& p, int ranks) {
    return Meeting::footprint(ranks) +
           static_cast<std::size_t>(ranks) * 3 * (array_bytes(p) + block_bytes(p));
  }
  static const char* where(const Parameters&) { return "scatter"; }
  static int per_sample(const Parameters&, int) { return 1; }
  static std::size_t bytes(const Parameters& p) {
    const bool two_sources = p.operation == Operation::add || p.operation == Operation::triad;
    return static_cast<std::size_t>(p.lines) * arch::line_bytes * (two_sources ? 3 : 2);
  }

  template <class Port>
  static void run(Port& port, const Parameters& p, const KernelRun& run, RankSamples& samples) {
    Meeting meeting(run);
    // A rank's parts of a, b and c.
    unsigned char* parts[3];
    for (std::size_t i = 0; i < 3; ++i)
      parts[i] = run.memory + Meeting::footprint(run.ranks) +
                 (static_cast<std::size_t>(run.rank) * 3 + i) * array_bytes(p);
    // Its buffers for blocks lie after all arrays.
    unsigned char* const blocks = run.memory + Meeting::footprint(run.ranks) +
                                  static_cast<std::size_t>(run.ranks) * 3 * array_bytes(p) +
                                  static_cast<std::size_t>(run.rank) * 3 * block_bytes(p);
    const std::size_t size = static_cast<std::size_t>(p.lines) * arch::line_bytes;
    fill(port, parts[0], size, a_first);
    fill(port, parts[1], size, b_first);
    fill(port, parts[2], size, c_first);
    for (int s = 0; s < run.samples; ++s) {
      meeting.meet(port);
      if (p.start == Start::evicted)
        for (unsigned char* part : parts)
          for (std::size_t at = 0; at < size; at += arch::line_bytes) port.evict(part + at);
      port.fence();
      const std::int64_t begin = meeting.start(port, samples);
      switch (p.operation) {
        case Operation::copy:
          pass(port, p, blocks, parts[2], parts[0], nullptr, [](double a, double) { return a; });
          break;
        case Operation::scale:
          pass(port, p, blocks, parts[1], parts[2], nullptr, [](double c, double) { return factor * c; });
          break;
        case Operation::add:
          pass(port, p, blocks, parts[2], parts[0], parts[1], [](double a, double b) { return a + b; });
          break;
        case Operation::triad:
          pass(port, p, blocks, parts[0], parts[1], parts[2],
               [](double b, double c) { return b + factor * c; });
          break;
      }
      port.fence();
      samples.ticks.push_back(port.ticks() - begin);
      if (wrong(port, p, parts)) ++samples.wrong;
    }
  }

 private:
  static constexpr int doubles_a_line = static_cast<int>(arch::line_bytes / sizeof(double));
  static constexpr double factor = 3.0;
  // What the arrays hold at first.
  static constexpr double a_first = 1.0;
  static constexpr double b_first = 2.0;
  static constexpr double c_first = 0.5;

  struct alignas(arch::line_bytes) Line {
    double of[doubles_a_line];
  };

  static std::size_t array_bytes(const Parameters& p) {
    return whole_pages(static_cast<std::size_t>(p.lines) * arch::line_bytes);
  }

  static std::size_t block_bytes(const Parameters& p) {
    return p.way == Way::in_place ? 0 : whole_pages(static_cast<std::size_t>(p.block) * arch::line_bytes);
  }

  template <class Port>
  static void fill(Port& port, unsigned char* part, std::size_t size, double value) {
    Line line;
    for (double& x : line.of) x = value;
    for (std::size_t at = 0; at < size; at += arch::line_bytes)
      port.store_line(part + at, &line, StorePolicy::plain);
  }

  template <class Port, class Element>
  static void pass(Port& port, const Parameters& p, unsigned char* blocks, unsigned char* to,
                   unsigned char* left, unsigned char* right, Element element) {
    const std::size_t size = static_cast<std::size_t>(p.lines) * arch::line_bytes;
    if (p.way == Way::in_place) {
      sweep(port, p, size, to, left, right, element);
      return;
    }
    const std::size_t most = static_cast<std::size_t>(p.block) * arch::line_bytes;
    unsigned char* const result = blocks + 2 * block_bytes(p);
    unsigned char* const second = right == nullptr ? nullptr : blocks + block_bytes(p);
    for (std::size_t at = 0; at < size; at += most) {
      const std::size_t bytes = std::min(most, size - at);
      put_or_get(port, p.call, blocks, left + at, bytes);
      if (right != nullptr) put_or_get(port, p.call, second, right + at, bytes);
      sweep(port, p, bytes, result, blocks, second, element);
      put_or_get(port, p.call, to + at, result, bytes);
    }
  }

  template <class Port, class Element>
  static void sweep(Port& port, const Parameters& p, std::size_t size, unsigned char* to,
                    const unsigned char* left, const unsigned char* right, Element element) {
    const std::size_t ahead = static_cast<std::size_t>(p.ahead) * arch::line_bytes;
    for (std::size_t at = 0; at < size; at += arch::line_bytes) {
      if (ahead != 0 && at + ahead < size) {
        port.prefetch(left + at + ahead);
        if (right != nullptr) port.prefetch(right + at + ahead);
      }
      Line a, b, result;
      port.load_line(left + at, &a);
      if (right != nullptr)
        port.load_line(right + at, &b);
      else
        b = a;
      for (int i = 0; i < doubles_a_line; ++i) result.of[i] = element(a.of[i], b.of[i]);
      port.store_line(to + at, &result, p.store);
    }
  }

  // The last line of what was written: the first values are never written again by the same operation.
  template <class Port>
  static bool wrong(Port& port, const Parameters& p, unsigned char* const* parts) {
    constexpr int targets[] = {2, 1, 2, 0};
    const double wanted[] = {a_first, factor * c_first, a_first + b_first, b_first + factor * c_first};
    const auto operation = static_cast<std::size_t>(p.operation);
    Line line;
    port.load_line(parts[targets[operation]] + static_cast<std::size_t>(p.lines - 1) * arch::line_bytes,
                   &line);
    for (const double x : line.of)
      if (!(x == wanted[operation])) return true;
    return false;
  }
};

}  // namespace kernels
}  // namespace phicoll
