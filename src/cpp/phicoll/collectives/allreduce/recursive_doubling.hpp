#pragma once

// Recursive doubling. Source: namashivayam-2014 section 5.1.2 ("RD"), with shmem_ptr section 5.2. In step s
// the core ranks c and c xor 2^s exchange what they have and both combine it; after floor(lg P) steps all
// have the result. Numbers of ranks other than powers of two are folded.
//
// Both ranks of a pair combine the lower ranks' value with the higher ones', in this order. Each value stands
// for a range of ranks, so all ranks have the same bits, and an operator need not commute. Exchanges:
// doubling_exchange.hpp. exchange=copied, with a receive buffer, is what left_computes=yes is compared with.

#include "phicoll/collectives/transport/doubling_exchange.hpp"

namespace phicoll {

struct RecursiveDoubling : DoublingAllreduce {
  enum class Exchange : unsigned char { in_place, copied };

  struct Parameters {
    TransferWay transfer = TransferWay::load_store;
    Exchange exchange = Exchange::in_place;
    YesNo left_computes = YesNo::no;
    int buffer = default_piece_bytes;
  };

  static AlgorithmFacts facts() {
    return {"recursive-doubling", Origin::paper, "namashivayam-2014 section 5.1.2, RD",
            "pairs at distances 1, 2, 4 ... exchange what they have and both combine it"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_transfer(visitor, p.transfer);
    visitor.choice("exchange", p.exchange, {"in-place", "copied"},
                   "with load-store: a peer's values are combined where they lie, or copied first");
    describe_yes_no(visitor, "left_computes", p.left_computes,
                    "only the lower rank of a pair combines, and stores the result to both");
    describe_buffer(visitor, p.buffer);
  }
  static const char* refuse(const Parameters& p) {
    const bool copied = p.exchange == Exchange::copied;
    if (p.transfer == TransferWay::put_get && copied) return "exchange=copied with transfer=load-store only";
    if (p.left_computes == YesNo::no) return nullptr;
    return p.transfer == TransferWay::put_get ? "left_computes=yes with transfer=load-store only"
           : copied                           ? "left_computes=yes with exchange=in-place only"
                                              : nullptr;
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : exchange_(setup, p.transfer, p.buffer, p.exchange == Exchange::copied),
          left_computes_(p.left_computes == YesNo::yes) {
      const Fold& fold = exchange_.fold;
      if (fold.folded(setup.rank)) return;
      const int core = fold.core(setup.rank);
      for (int s = 0; s < fold.steps(); ++s) {
        const int peer = fold.rank(core ^ (1 << s));
        exchange_.steps.push_back(DoublingStep{peer, peer, peer < setup.rank});
      }
    }

    void operator()(Port& port, const Call& call) {
      if (!left_computes_) return exchange_(port, call);
      exchange_(port, call, [&](const Operator& op, const PieceArrays& a) { left_computes(port, op, a); });
    }

   private:
    // Of each pair the lower rank alone combines, into its own array, referring directly to its partner's;
    // then it writes the values into the partner's array and tells it. The partner touches neither place
    // between showing them and being told (release and acquire of `done`), and leaves the call only after
    // that, so nothing needs acknowledging.
    void left_computes(Port& port, const Operator& op, const PieceArrays& a) {
      DoublingExchange<Port>& x = exchange_;
      const int side = x.fold.steps();
      const Data buffer = x.scratch.get(port, 0);
      if (x.fold.folded(x.rank)) return load_store_folded(port, x.shown, side, a, buffer, x.rank + 1);
      // Where this rank's values lie between the steps, in reach of its partners.
      const Data home = a.receive_direct ? a.receive : buffer;
      Data mine = a.send;
      ShownPlaces aside;
      if (x.fold.carries(x.rank)) {
        aside = x.shown.look(port, x.rank - 1, side, a.number);
        port.combine(op, home, aside.read, mine, a.count);
        mine = home;
      }
      for (int s = 0; s < side; ++s) {
        const int peer = x.steps.data()[static_cast<std::size_t>(s)].to;
        if (peer > x.rank) {
          const ShownPlaces partner = x.shown.look(port, peer, s, a.number);
          const Data value = s + 1 == side ? a.receive : home;
          port.combine(op, value, mine, partner.read, a.count);
          port.move(partner.write, value, a.bytes);
          x.shown.done(port, peer, s, a.number);
          mine = value;
        } else {
          if (mine == a.send && !a.send_direct) {
            move_some(port, home, mine, a.bytes);
            mine = home;
          }
          x.shown.show(port, s, a.number, mine, home);
          x.shown.await_done(port, s, a.number, peer);
          mine = home;
        }
      }
      move_some(port, a.receive, mine, a.bytes);
      if (x.fold.carries(x.rank)) {
        port.move(aside.write, a.receive, a.bytes);
        x.shown.done(port, x.rank - 1, side, a.number);
      }
    }

    DoublingExchange<Port> exchange_;
    bool left_computes_;
  };
};

}  // namespace phicoll
