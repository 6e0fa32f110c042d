// Logs a rank's operations, and reports ranks that wait for ever.

#include "phicoll/sim/engine/simulation.hpp"

#include <string>

#include "phicoll/arch/arch.hpp"
#include "phicoll/errors.hpp"

namespace phicoll {
namespace sim {

const char* to_string(OperationKind kind) {
  constexpr const char* names[] = {"load", "store", "atomic", "wait", "fence", "copy", "evict", "pause"};
  return names[static_cast<std::size_t>(kind)];
}

int Simulation::log_begin(Context& c, OperationKind kind, LineId line) {
  if (log_->bytes() > options_.log_limit)
    throw ResourceError("memory_limit: the record of one call takes more than " +
                        std::to_string(options_.log_limit) +
                        " bytes; allowed: a smaller size, fewer ranks, or a higher memory_limit");
  c.operation = static_cast<int>(log_->operations.size());
  c.transfer = -1;
  log_->operations.push_back(OperationRecord{kind, c.rank, line, c.time, -1, -1, -1, -1, Log::none});
  return c.operation;
}

void Simulation::log_end(Context& c, int cause) {
  OperationRecord& operation = log_->operations[static_cast<std::size_t>(c.operation)];
  operation.ended = c.time;
  if (operation.transfer < 0) operation.transfer = c.transfer;
  operation.cause = cause;
}

/// The operation that wrote what lies there, of several the one whose write became visible last. `bytes` of
/// 0: the bytes of the line that `mask` names.
bool Simulation::close_log() {
  if (coherence_.has_asked_before(log_->complete())) return false;
  log_->close();
  return true;
}

int Simulation::logged_cause(const void* place, unsigned bytes, std::uint64_t mask) const {
  if (bytes != 0)
    mask = (bytes < 64 ? (std::uint64_t{1} << bytes) - 1 : ~std::uint64_t{0}) << offset_of(place);
  return log_->writer(line_of(place), mask);
}

void Simulation::mark(int rank, MarkKind kind, int call) {
  if (log_) log_->mark(MarkRecord{kind, rank, call, ticks(rank)});
}

void Simulation::throw_stuck(const char* what) const {
  std::string text;
  int listed = 0;
  for (const Context& c : contexts_) {
    if (c.mode == Mode::finished || listed == 8) continue;
    ++listed;
    text += (text.empty() ? "" : "; ") + std::string("rank ") + std::to_string(c.rank) + " (core " +
            std::to_string(c.core) + ")";
    if (c.awaited == nullptr) {
      if (c.mode != Mode::blocked)
        text += " polls";
      else if (c.needs == Needs::line)
        text += " needs line " + std::to_string(c.line);
      else
        text += " has stores that wait for line " + std::to_string(c.stores[c.first_store].line);
      continue;
    }
    const Awaited& a = *c.awaited;
    const auto byte = static_cast<const unsigned char*>(a.place) - memory_;
    text += " waits for line " + std::to_string(line_of(a.place)) + ", byte " + std::to_string(byte);
    text += a.text();
  }
  if (unfinished_ > listed) text += "; and " + std::to_string(unfinished_ - listed) + " more";
  throw DeadlockError("simulation: " + std::to_string(unfinished_) + " of " + std::to_string(shape_.size()) +
                      " ranks " + what + " for ever, at cycle " + std::to_string(wheel_.now()) + " on " +
                      machine_.name + ": " + text);
}

}  // namespace sim
}  // namespace phicoll
