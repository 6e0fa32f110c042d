#pragma once

// What the ping-pong kernels have in common: pairs of ranks with four buffers, a send and a receive buffer
// each, whose lines are brought into their states before every exchange and lie elsewhere in each. Source:
// 004 chapter 2, figure 2.1. All pairs run at the same time.

#include <algorithm>

#include "phicoll/kernels/draw.hpp"
#include "phicoll/kernels/kernel_run.hpp"
#include "phicoll/kernels/line_state.hpp"
#include "phicoll/kernels/meeting.hpp"

namespace phicoll {
namespace kernels {

/// Which ranks form a pair (004 figure A.1).
enum class Pairing : unsigned char {
  neighbours,  ///< 2i and 2i + 1
  grouped,     ///< groups of four, interleaved: i and i + 2 (figure A.1a)
  link,        ///< nested, i and ranks - 1 - i: on up to half of a ring all cross one link (figure A.1b)
  across       ///< i and i + ranks / 2: with half of the ranks in each package all cross over (figure A.1c)
};

template <class Visitor>
void describe_pairing(Visitor& v, Pairing& pairing) {
  v.choice("pattern", pairing, {"neighbours", "grouped", "link", "across"},
           "pairs 2i and 2i+1; interleaved in groups of four; nested, over one link of a ring; i and i + "
           "half of the ranks");
}

inline int partner_of(Pairing pairing, int rank, int ranks) {
  switch (pairing) {
    case Pairing::neighbours:
      return rank ^ 1;
    case Pairing::grouped:
      return rank ^ 2;
    case Pairing::link:
      return ranks - 1 - rank;
    case Pairing::across:
      return (rank + ranks / 2) % ranks;
  }
  return -1;
}

struct Exchange {
  LineState send;
  LineState receive;
  std::size_t lines;  ///< of each buffer
  bool whole;         ///< all of them are copied, not the canary alone
  Pairing pairing;

  static const char* ranks_allowed(Pairing pairing, int ranks) {
    if (pairing == Pairing::grouped)
      return ranks >= 4 && ranks % 4 == 0 ? nullptr : "a multiple of 4: groups of two pairs";
    return ranks >= 2 && ranks % 2 == 0 ? nullptr : "an even number from 2: pairs";
  }
  std::size_t footprint(int ranks) const {
    return Meeting::footprint(ranks) + static_cast<std::size_t>(ranks) * 2 * pool_bytes();
  }

  /// Bytes of a message that is copied whole.
  std::size_t bytes() const { return lines * arch::line_bytes; }

  /// Whole messages there and back.
  template <class Port>
  void copy_whole(Port& port, const KernelRun& run, RankSamples& samples) const {
    const std::size_t size = bytes();
    transfer_by(port, run, samples, [size](Port& by, unsigned char* to, unsigned char* from) {
      by.software(Software::send);
      by.copy(to, from, size);
    });
  }

  /// `transfer(port, destination, source)` copies a send buffer into the partner's receive buffer, the canary
  /// last.
  template <class Port, class Transfer>
  void transfer_by(Port& port, const KernelRun& run, RankSamples& samples, Transfer transfer) const {
    Meeting meeting(run);
    const int partner = partner_of(pairing, run.rank, run.ranks);
    const bool first = run.rank < partner;
    for (int s = 0; s < run.samples; ++s) {
      const auto mark = static_cast<std::uint64_t>(s) + 1;
      unsigned char* const mine = buffer(run, s, run.rank, false);
      unsigned char* const my_inbox = buffer(run, s, run.rank, true);
      unsigned char* const theirs = buffer(run, s, partner, false);
      unsigned char* const their_inbox = buffer(run, s, partner, true);
      meeting.meet(port);
      begin(port, send, mine, theirs, mark);
      begin(port, receive, my_inbox, their_inbox, 0);
      if (has_two_holders(send) || has_two_holders(receive)) {
        meeting.meet(port);
        if (has_two_holders(send)) share_lines(port, send == LineState::shared ? theirs : mine, lines);
        if (has_two_holders(receive))
          share_lines(port, receive == LineState::shared ? their_inbox : my_inbox, lines);
      }
      DataWord& canary = last_word(my_inbox, lines);
      if (first) {
        // The partner polls by now.
        meeting.start(port, samples);
        const std::int64_t start = port.ticks();
        transfer(port, their_inbox, mine);
        port.wait(canary, equal(mark), partner);
        samples.ticks.push_back(port.ticks() - start);
      } else {
        meeting.agree(port);
        port.wait(canary, equal(mark), partner);
        transfer(port, their_inbox, mine);
      }
      if (whole && count_wrong(port, my_inbox, lines, mark) != 0) ++samples.wrong;
    }
  }

 private:
  /// What each rank does first: to its own buffer, or to its partner's if that is to answer for it.
  template <class Port>
  void begin(Port& port, LineState state, unsigned char* own, unsigned char* partners,
             std::uint64_t mark) const {
    unsigned char* const begun = owner_begins(state) ? own : partners;
    write_lines(port, begun, lines, mark);
    hold_lines(port, begun, lines, state);
  }

  std::size_t pool_lines() const { return std::max<std::size_t>(512, 2 * lines); }
  std::size_t pool_bytes() const { return whole_pages(pool_lines() * arch::line_bytes); }
  unsigned char* buffer(const KernelRun& run, int sample, int rank, bool inbox) const {
    const auto pool = static_cast<std::size_t>(rank) * 2 + (inbox ? 1 : 0);
    Draw draw(run.seed, static_cast<std::uint64_t>(sample), pool);
    return run.memory + Meeting::footprint(run.ranks) + pool * pool_bytes() +
           draw.below(pool_lines() - lines + 1) * arch::line_bytes;
  }
};

}  // namespace kernels
}  // namespace phicoll
