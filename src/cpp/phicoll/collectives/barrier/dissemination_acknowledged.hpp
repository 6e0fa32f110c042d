#pragma once

// m-way dissemination barrier with acknowledgement. Source: ramos-hoefler-2013 section 4.2 and figure 4.3: in
// round k rank r sets a flag in its own line, waits for the flags of the m ranks (r - i (m+1)^k) mod P, i =
// 1..m, acknowledges each, and waits until m others have acknowledged its own. So the reader goes to the
// writer's line, while plain dissemination writes to the reader's.

#include <cstdint>

#include "phicoll/collectives/barrier/acknowledged_model.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

struct DisseminationAcknowledged : AlgorithmDefaults {
  enum class Acknowledgement : unsigned char { counter, line_per_sender };

  struct Parameters {
    int m = 0;
    Acknowledgement ack = Acknowledgement::counter;
    AcknowledgedRounds rounds = AcknowledgedRounds::corrected;
    StorePolicy store = StorePolicy::plain;
  };

  static AlgorithmFacts facts() {
    return {"dissemination-acknowledged", Origin::paper, "ramos-hoefler-2013 section 4.2",
            "m ranks read a rank's flag in each round and acknowledge it; m is chosen by the paper's model"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("m", p.m, 0, max_ranks,
                    "partners a round; 0: the optimum of the paper's model with the machine's costs");
    visitor.choice("ack", p.ack, {"counter", "line-per-sender"},
                   "all acknowledge in one counter beside the flag, or each in a line of its own");
    visitor.choice("rounds", p.rounds, {"corrected", "printed"},
                   "log_{m+1} of the ranks, which the distances need, or log_m, as the paper prints");
    describe_store(visitor, p.store);
  }

  static void limit(Parameters& p, const Shape& shape) {
    if (p.m == 0) p.m = best_acknowledged(shape.size(), p.rounds, shape.costs()).ways;
    limit_others(p.m, shape);
  }

  static const char* refuse(const Parameters& p) {
    return p.store != StorePolicy::plain && p.ack == Acknowledgement::counter
               ? "store=plain unless ack=line-per-sender, where flags and acknowledgements own their lines"
               : nullptr;
  }

  using Line = SoleWriterLine<std::uint64_t>;
  /// The flag and, for `ack=counter`, the counter after it: written by its rank and by m others.
  struct alignas(arch::line_bytes) FlagLine {
    Word<std::uint64_t> flag;
    Word<std::uint64_t> acknowledgements;
    unsigned char rest[arch::line_bytes - 16];
  };
  static std::size_t lines_a_rank(const Parameters& p) {
    return p.ack == Acknowledgement::counter ? 1 : 1 + static_cast<std::size_t>(p.m);
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return static_cast<std::size_t>(shape.size()) * lines_a_rank(p) * shape.stride();
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup) : ack_(p.ack), store_(p.store) {
      const int n = setup.size();
      const auto line = [&](int rank, std::size_t index) {
        return setup.at<unsigned char>((static_cast<std::size_t>(rank) * lines_a_rank(p) + index) *
                                       setup.shape.stride());
      };
      own_ = reinterpret_cast<FlagLine*>(line(setup.rank, 0));
      const int rounds = n > 1 ? acknowledged_rounds(p.m, n, p.rounds) : 0;
      long distance = 1;  // (m+1)^k, modulo n once it has passed n: the printed rule goes on to such rounds
      for (int k = 0; k < rounds; ++k) {
        for (int i = 1; i <= p.m; ++i) {
          // By the corrected rule, ranks at a distance of n or more have been heard of already.
          if (p.rounds == AcknowledgedRounds::corrected && distance * i >= n) break;
          const int step = static_cast<int>(distance * i % n);
          if (step == 0) continue;  // the rank itself, by the printed rule only
          Partner partner;
          partner.behind = (setup.rank - step + n) % n;
          partner.ahead = (setup.rank + step) % n;
          partner.line = reinterpret_cast<FlagLine*>(line(partner.behind, 0));
          partner.tell = nullptr;
          partner.hear = nullptr;
          if (p.ack == Acknowledgement::line_per_sender) {
            partner.tell = reinterpret_cast<Line*>(line(partner.behind, static_cast<std::size_t>(i)));
            partner.hear = reinterpret_cast<Line*>(line(setup.rank, static_cast<std::size_t>(i)));
          }
          partners_.push_back(partner);
        }
        round_ends_.push_back(partners_.size());
        distance *= p.m + 1;
        if (p.rounds == AcknowledgedRounds::printed) distance %= n;
      }
    }

    // Figure 4.3 cannot be run as printed: the last episode's flag passes at once, two acknowledgers'
    // increments can be lost, and the loop does one round too few or too many. Here a flag holds episode x
    // rounds + round and only grows. An acknowledgement is an atomic add to a growing counter (`ack=counter`,
    // in the flag's line as in the figure) or a line per acknowledger (section 4.1.1's alternative).
    // `rounds=corrected` takes the ceil(log_{m+1} P) that the distances need, `rounds=printed` the paper's
    // log_m P.
    void operator()(Port& port) {
      const Partner* partner = partners_.data();
      for (const std::size_t round_end : round_ends_) {
        ++step_;
        const Partner* const first = partner;
        const Partner* const end = partners_.data() + round_end;
        // Releases what this rank wrote and what it acquired in the rounds before.
        if (store_ == StorePolicy::plain) {
          port.signal(own_->flag, step_);
        } else {
          port.signal(*reinterpret_cast<Line*>(own_), step_, store_);
        }
        for (; partner != end; ++partner) {
          port.wait(partner->line->flag, at_least(step_), partner->behind);
          if (ack_ == Acknowledgement::counter) {
            port.signal_add(partner->line->acknowledgements, std::uint64_t{1});
          } else {
            // The line changes its writer from round to round, but one at a time: the next may write only
            // when the owner's next flag is up, which the owner sets after it has seen this acknowledgement.
            port.signal(*partner->tell, step_, store_);
          }
        }
        // As many ranks read this rank's flag in a round as it reads itself.
        if (ack_ == Acknowledgement::counter) {
          acknowledged_ += static_cast<std::uint64_t>(end - first);
          port.wait(own_->acknowledgements, at_least(acknowledged_));
        } else {
          for (const Partner* p = first; p != end; ++p) port.wait(p->hear->word, at_least(step_), p->ahead);
        }
      }
    }

   private:
    struct Partner {
      FlagLine* line;  // the rank's whose flag is read
      Line* tell;      // where it is acknowledged, and where this rank's acknowledgement comes from
      Line* hear;
      int behind;
      int ahead;
    };

    FlagLine* own_ = nullptr;
    std::uint64_t step_ = 0;
    std::uint64_t acknowledged_ = 0;
    AlignedVector<Partner> partners_;
    AlignedVector<std::size_t> round_ends_;
    Acknowledgement ack_;
    StorePolicy store_;
  };
};

}  // namespace phicoll
