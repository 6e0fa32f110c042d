// What the protocol logs of each transaction, if asked to.

#include "phicoll/sim/engine/coherence.hpp"

#include <algorithm>

namespace phicoll {
namespace sim {

/// A cache was reached and takes the message up at `start`.
void Coherence::note_asked(std::uint32_t t, int core, Cycles start) {
  const Transaction& x = at(t);
  const int home = ring_.directory(lines_[x.line].home);
  Steps& s = steps_[t];
  RingCount uncounted;
  const Cycles directed = wheel_.now() - ring_.send(uncounted, home, ring_.core(core));
  const Cycles told = start + p_.owner_latency + ring_.send(uncounted, ring_.core(core), home);
  if (core == x.responder) {
    s.data_directed = directed;
    s.data_asked = wheel_.now();
    s.data_answered = start;
  }
  if (told <= s.last_acknowledgement) return;
  s.last_acknowledgement = told;
  s.directed = directed;
  s.asked = wheel_.now();
  s.answered = start;
  s.replied = start + p_.owner_latency;
}

void Coherence::note_freed(std::uint32_t t) {
  steps_[t].freed = wheel_.now();
  if (steps_[t].record >= 0) log_->transfers[static_cast<std::size_t>(steps_[t].record)].freed = wheel_.now();
}

void Coherence::record(std::uint32_t t) {
  const Transaction& x = at(t);
  const Line& line = lines_[x.line];
  Steps& s = steps_[t];
  if (s.data_asked >= 0 && x.data > x.go) {
    s.directed = s.data_directed;
    s.asked = s.data_asked;
    s.answered = s.data_answered;
    s.replied = s.data_answered + p_.owner_latency;
  }
  s.record = static_cast<int>(log_->transfers.size());
  log_->transfers.push_back(
      TransferRecord{x.kind,     x.source,     x.core,      x.ranks > 0 ? x.rank[0] : -1,
                     x.line,     line.home,    x.responder, x.invalidated,
                     s.ahead,    s.issued,     s.sent,      s.arrived,
                     s.taken_up, s.begun,      s.resumed,   s.directed,
                     s.asked,    s.answered,   s.replied,   x.data,
                     x.go,       wheel_.now(), s.freed});
}

}  // namespace sim
}  // namespace phicoll
