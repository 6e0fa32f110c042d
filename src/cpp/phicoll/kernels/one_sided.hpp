#pragma once

// Put, get, p and g between all pairs of ranks at the same time, as the PGAS microbenchmarks time them (003
// section 4.1, figures 3 to 5: n pairs are 2 n PEs). OpenSHMEM's put and get copy between two symmetric
// memories; p and g store and load one word. `call` states the time that a library's call adds to an access;
// with `call=0` the access is what shmem_ptr gives, loads and stores in the peer's memory. The buffers do not
// move, so by default they lie in the caches where earlier accesses left them.

#include <algorithm>

#include "phicoll/kernels/exchange.hpp"

namespace phicoll {
namespace kernels {

/// What a library does around the access that it was called for.
template <class Port>
void call_library(Port& port, int call) {
  if (call != 0) port.wait_until(port.ticks() + call);
}
template <class Visitor>
void describe_call(Visitor& v, int& call) {
  v.integer("call", call, 0, 1000000,
            "ticks that each call takes before its access; 0: loads and stores through shmem_ptr");
}

/// A copy between shared memory and shared memory, after a call that takes `call` ticks.
template <class Port>
void put_or_get(Port& port, int call, unsigned char* to, unsigned char* from, std::size_t bytes) {
  call_library(port, call);
  port.move(port.shared(to), port.shared(from), bytes);
}

enum class Access : unsigned char { put, get, p, g };

template <Access access>
struct OneSided {
  static constexpr bool writes = access == Access::put || access == Access::p;
  static constexpr bool one_word = access == Access::p || access == Access::g;

  static KernelFacts facts() {
    constexpr KernelFacts of[] = {
        {"put", source, "Pairs of ranks: copies into the partner's memory.", writing},
        {"get", source, "Pairs of ranks: copies from the partner's memory.", reading},
        {"p", source, "Pairs of ranks: stores of a word in the partner's memory.", writing},
        {"g", source, "Pairs of ranks: loads of a word of the partner's memory.", reading}};
    return of[static_cast<int>(access)];
  }

  enum class Directions : unsigned char { one, both };
  enum class Remote : unsigned char { kept, written };
  struct Parameters {
    int bytes = 8;
    int call = 0;
    int transfers = 1;
    Directions directions = Directions::one;
    Remote remote = Remote::kept;
    Pairing pattern = Pairing::across;
  };
  template <class Visitor>
  static void describe(Visitor& v, Parameters& p) {
    if (!one_word) v.integer("bytes", p.bytes, 8, 1 << 26, "bytes of a transfer");
    describe_call(v, p.call);
    v.integer("transfers", p.transfers, 1, 4096,
              "transfers in a sample, one after another, from and to the same places");
    v.choice("directions", p.directions, {"one", "both"},
             "the lower rank of a pair transfers, or both at the same time");
    v.choice("remote", p.remote, {"kept", "written"},
             "the partner's buffer: as the sample before has left it, or written by the partner before each "
             "sample");
    describe_pairing(v, p.pattern);
  }

  static const char* ranks_allowed(const Parameters& p, int ranks) {
    return Exchange::ranks_allowed(p.pattern, ranks);
  }
  static std::size_t footprint(const Parameters& p, int ranks) {
    return Meeting::footprint(ranks) + static_cast<std::size_t>(ranks) * 2 * buffer_bytes(p);
  }
  static const char* where(const Parameters&) { return "scatter"; }
  /// Whose symmetric memory a byte of the footprint belongs to.
  static int owner(const Parameters& p, int ranks, std::size_t byte) {
    const std::size_t flags = Meeting::footprint(ranks);
    return byte < flags ? ranks - 1 : static_cast<int>((byte - flags) / (2 * buffer_bytes(p)));
  }
  static int per_sample(const Parameters& p, int) { return p.transfers; }
  static std::size_t bytes(const Parameters& p) { return static_cast<std::size_t>(p.bytes); }

  template <class Port>
  static void run(Port& port, const Parameters& p, const KernelRun& run, RankSamples& samples) {
    Meeting meeting(run);
    const int partner = partner_of(p.pattern, run.rank, run.ranks);
    const bool both = p.directions == Directions::both;
    const bool moves = both || run.rank < partner;   // this rank calls put or get
    const bool serves = both || partner < run.rank;  // its partner does
    const bool fresh = p.remote == Remote::written;
    unsigned char* const source = buffer(p, run, run.rank, false);
    unsigned char* const target = buffer(p, run, run.rank, true);
    unsigned char* const from = writes ? source : buffer(p, run, partner, false);
    unsigned char* const to = writes ? buffer(p, run, partner, true) : target;
    std::uint64_t got = 0;
    const auto size = static_cast<std::size_t>(p.bytes);
    // The first round is not a sample: it brings the lines to where transfers leave them.
    for (int s = 0; s <= run.samples; ++s) {
      const auto round = static_cast<std::uint64_t>(s) + 1;
      const bool renewed = s == 0 || fresh;
      // A partner that wrote its buffer would call its lines back: a source that is kept holds the first
      // mark.
      const std::uint64_t mark = writes || fresh ? round : 1;
      if (writes) {
        if (moves) write(port, source, size, mark);
        if (serves && renewed) write(port, target, size, 0);
      } else {
        if (moves) write(port, target, size, 0);
        if (serves && renewed) write(port, source, size, mark);
      }
      port.fence();
      if (moves) {
        meeting.start(port, samples);
        const std::int64_t begin = port.ticks();
        for (int i = 0; i < p.transfers; ++i) {
          if (!one_word) {
            put_or_get(port, p.call, to, from, size);
            continue;
          }
          call_library(port, p.call);
          if (writes)
            port.store_relaxed(word(to, 0), mark);
          else
            got = port.load_relaxed(word(from, 0));
        }
        if (writes) port.fence();  // quiet
        if (s != 0) samples.ticks.push_back(port.ticks() - begin);
        if (access == Access::g) port.store_relaxed(word(to, 0), got);
      } else {
        meeting.agree(port);
      }
      // All transfers have ended before anyone looks at what has come, or writes again. The next ones begin
      // when all have come to the next start, so after those looks and writes.
      meeting.meet(port);
      const bool looks = !writes ? moves : serves && (fresh || s == run.samples);
      if (looks && !holds(port, target, size, mark)) ++samples.wrong;
    }
  }

 private:
  static constexpr const char* source = "namashivayam-2014, section 4.1";
  static constexpr const char* writing = "the time of `transfers` of them and one quiet / `transfers`";
  static constexpr const char* reading = "the time of `transfers` of them / `transfers`";

  static std::size_t buffer_bytes(const Parameters& p) {
    return whole_pages(static_cast<std::size_t>(p.bytes));
  }
  static unsigned char* buffer(const Parameters& p, const KernelRun& run, int rank, bool inbox) {
    return run.memory + Meeting::footprint(run.ranks) +
           (static_cast<std::size_t>(rank) * 2 + (inbox ? 1 : 0)) * buffer_bytes(p);
  }

  static DataWord& word(unsigned char* buffer, std::size_t at) {
    return *reinterpret_cast<DataWord*>(buffer + at);
  }
  static std::size_t last(std::size_t size) { return (size / sizeof(DataWord) - 1) * sizeof(DataWord); }

  /// A mark in the first word of every line, and in the last whole word.
  template <class Port>
  static void write(Port& port, unsigned char* buffer, std::size_t size, std::uint64_t mark) {
    for (std::size_t at = 0; at <= last(size); at += arch::line_bytes)
      port.store_relaxed(word(buffer, at), mark);
    port.store_relaxed(word(buffer, last(size)), mark);
  }
  template <class Port>
  static bool holds(Port& port, unsigned char* buffer, std::size_t size, std::uint64_t mark) {
    for (std::size_t at = 0; at <= last(size); at += arch::line_bytes)
      if (port.load_relaxed(word(buffer, at)) != mark) return false;
    return port.load_relaxed(word(buffer, last(size))) == mark;
  }
};

using Put = OneSided<Access::put>;
using Get = OneSided<Access::get>;
using PutWord = OneSided<Access::p>;
using GetWord = OneSided<Access::g>;

}  // namespace kernels
}  // namespace phicoll
