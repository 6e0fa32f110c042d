#include "phicoll/sim/explaining/critical_path.hpp"

#include <algorithm>
#include <unordered_map>

#include "phicoll/errors.hpp"

namespace phicoll {
namespace sim {

namespace {

struct CauseText {
  const char* name;
  const char* meaning;
};
constexpr CauseText cause_texts[causes] = {
    {"instructions", "issue of instructions, hits included"},
    {"look phase", "from a change until the waiter looks again"},
    {"polite pause", "between two looks that the algorithm makes itself"},
    {"store buffer", "behind the rank's earlier stores"},
    {"turn in core", "behind other contexts of the core that asked together"},
    {"held back", "the core had as many lines under way as it may"},
    {"request trip", "from the miss to the directory"},
    {"directory queue", "the directory served requests of other lines"},
    {"line busy", "behind other requests of the line"},
    {"directory service", "look-up, and asking one sharer after another"},
    {"forward trip", "from the directory to the cache or memory"},
    {"cache queue", "the cache that was asked was busy"},
    {"snoop", "its answer"},
    {"memory", "channel and access"},
    {"answer trip", "the data's way to the core"},
    {"go-ahead", "acknowledgement to the directory, and its go-ahead to the core"},
    {"fill", "from the answer to the instruction's end"},
    {"release trip", "the acknowledgement that frees the line"},
    {"transfer", "what the machine's table says"},
    {"place in queue", "the queue of commands was full"},
    {"order of commands", "behind commands that this one must follow"},
    {"unit", "the core's unit took up other commands, and this one"},
    {"carriers", "ports, buses, the link or the memory controller served other commands"},
    {"flow", "the command's bytes at the rate of the slowest of these"},
    {"latency", "of a command, beyond that"},
    {"unexplained", "nothing in the log tells"},
};

class Walk {
 public:
  Walk(const Log& log, const std::vector<int>& cores) : log_(log), cores_(cores), of_rank_(cores.size()) {
    ordinal_.resize(log.operations.size());
    for (std::size_t o = 0; o < log.operations.size(); ++o) {
      std::vector<int>& mine = of_rank_[static_cast<std::size_t>(log.operations[o].rank)];
      ordinal_[o] = static_cast<int>(mine.size());
      mine.push_back(static_cast<int>(o));
    }
    issuer_.assign(log.transfers.size(), Log::none);
    for (std::size_t o = 0; o < log.operations.size(); ++o) {
      const OperationRecord& operation = log.operations[o];
      if (operation.transfer < 0) continue;
      int& issuer = issuer_[static_cast<std::size_t>(operation.transfer)];
      if (issuer < 0 && transfer(operation.transfer).rank == operation.rank) issuer = static_cast<int>(o);
    }
    for (std::size_t t = 0; t < log.transfers.size(); ++t)
      of_line_[log.transfers[t].line].push_back(static_cast<int>(t));
    for (std::size_t s = 0; s < log.states.size(); ++s)
      if (log.states[s].to == LineState::invalid || log.states[s].to == LineState::leaving)
        lost_[key(log.states[s].core, log.states[s].line)].push_back(log.states[s].time);
  }

  CriticalPath run(int call) {
    CriticalPath path;
    path.call = call;
    path.from = path.to = -1;
    for (const MarkRecord& mark : log_.marks) {
      if (mark.call != call) continue;
      const bool enter = mark.kind == MarkKind::enter;
      if (mark.time <= (enter ? path.from : path.to)) continue;
      (enter ? path.from : path.to) = mark.time;
      (enter ? path.last_in : path.last_out) = mark.rank;
    }
    if (path.last_in < 0 || path.last_out < 0)
      throw ArgumentError("call", std::to_string(call), "a call that the log holds completely");
    start_ = path.from;
    time_ = path.to;
    go_at(path.last_out, static_cast<int>(of_rank_[static_cast<std::size_t>(path.last_out)].size()));
    // Every step goes back in time or in the order of one rank's operations. The bound guards against a
    // malformed log.
    const std::size_t most = 16 * (log_.operations.size() + log_.transfers.size()) + 64;
    for (std::size_t steps = 0; time_ > start_; ++steps) {
      if (steps > most) {
        open(LinkKind::local, last_rank_, Log::none, Log::none);
        floor_ = -1;
        emit(Cause::unexplained, start_);
        break;
      }
      step();
      if (floor_ >= 0 && time_ == floor_ && cut_) {
        const int writer = floor_writer_;
        floor_ = -1;
        go_visible(writer);
      }
      cut_ = false;
    }
    std::reverse(links_.begin(), links_.end());
    for (PathLink& link : links_) std::reverse(link.parts.begin(), link.parts.end());
    path.links = std::move(links_);
    return path;
  }

 private:
  enum class At : unsigned char { gap, inside, visible, filled, freed, ended };

  const OperationRecord& operation(int o) const { return log_.operations[static_cast<std::size_t>(o)]; }
  const TransferRecord& transfer(int t) const { return log_.transfers[static_cast<std::size_t>(t)]; }
  static std::uint64_t key(int core, LineId line) {
    return std::uint64_t{line} << 16 | static_cast<unsigned>(core);
  }

  // --- writing the path down, backwards

  /// The parts emitted next belong to this link.
  void open(LinkKind kind, int rank, int o, int t) {
    kind_ = kind;
    link_rank_ = rank;
    link_operation_ = o;
    link_transfer_ = t;
    if (rank >= 0) last_rank_ = rank;
  }

  /// Attributes the time from `from` until now to `cause`. Returns false if that reaches the start of the
  /// call, or the moment at which the awaited value became visible; the walk then goes on elsewhere.
  bool emit(Cause cause, Cycles from) {
    if (from < floor_ || from < start_) cut_ = true;
    from = std::max(std::max(from, floor_), start_);
    if (from < time_) {
      const bool same = !links_.empty() && links_.back().kind == kind_ && links_.back().rank == link_rank_ &&
                        (kind_ == LinkKind::queue ? links_.back().transfer == link_transfer_
                                                  : links_.back().operation == link_operation_);
      if (!same) {
        PathLink link;
        link.kind = kind_;
        link.rank = link_rank_;
        link.operation = link_operation_;
        link.to = time_;
        if (link_operation_ >= 0) link.line = operation(link_operation_).line;
        link.core = link_rank_ >= 0       ? cores_[static_cast<std::size_t>(link_rank_)]
                    : link_transfer_ >= 0 ? transfer(link_transfer_).core
                                          : -1;
        links_.push_back(std::move(link));
      }
      PathLink& link = links_.back();
      link.from = from;
      if (link.transfer < 0 && link_transfer_ >= 0 && kind_ != LinkKind::local) {
        link.transfer = link_transfer_;
        link.line = transfer(link_transfer_).line;
        link.directory = transfer(link_transfer_).directory;
        link.ahead = transfer(link_transfer_).ahead;
      }
      if (!link.parts.empty() && link.parts.back().cause == cause)
        link.parts.back().from = from;
      else
        link.parts.push_back(PathPart{cause, from, time_});
      time_ = from;
    }
    return !cut_;
  }

  // --- where the walk is

  void go_at(int rank,
             int before) {  // between the rank's operations, or inside one; only those before `before`
    at_ = At::gap;
    rank_ = rank;
    before_ = before;
  }
  void go_inside(int o) { at_ = At::inside, subject_ = o; }
  void go_visible(int o) { at_ = At::visible, subject_ = o; }
  void go_before(int o) { go_at(operation(o).rank, ordinal_[static_cast<std::size_t>(o)]); }
  /// To the transfer that serves `o`; -1 for one that only holds the line.
  void go_transfer(At end, int t, int o) { at_ = end, subject_ = t, served_ = o; }

  void step() {
    switch (at_) {
      case At::gap:
        return step_gap();
      case At::ended:
        return step_ended(subject_);
      case At::inside:
        return step_inside(subject_);
      case At::visible:
        return step_visible(subject_);
      case At::filled:
      case At::freed:
        return step_transfer(subject_, at_ == At::freed);
    }
  }

  void step_gap() {
    const std::vector<int>& mine = of_rank_[static_cast<std::size_t>(rank_)];
    while (before_ > 0 && operation(mine[static_cast<std::size_t>(before_) - 1]).begun >= time_) --before_;
    open(LinkKind::local, rank_, Log::none, Log::none);
    if (before_ == 0) {
      emit(Cause::instructions, start_);
      return;
    }
    const int o = mine[static_cast<std::size_t>(before_) - 1];
    if (operation(o).ended < 0 || operation(o).ended > time_) return go_inside(o);
    if (!emit(Cause::instructions, operation(o).ended)) return;
    at_ = At::ended;
    subject_ = o;
  }

  /// The rank's latest store before `o` that became visible at `when`.
  int store_visible_at(int o, Cycles when) const {
    const std::vector<int>& mine = of_rank_[static_cast<std::size_t>(operation(o).rank)];
    for (int i = ordinal_[static_cast<std::size_t>(o)] - 1, seen = 0; i >= 0 && seen < 64; --i) {
      const OperationRecord& before = operation(mine[static_cast<std::size_t>(i)]);
      if (before.kind != OperationKind::store && before.kind != OperationKind::copy) continue;
      ++seen;
      if (before.visible == when) return mine[static_cast<std::size_t>(i)];
    }
    return Log::none;
  }
  /// The rank's latest store before `o` whose line came at `when`.
  int store_filled_at(int o, Cycles when) const {
    const std::vector<int>& mine = of_rank_[static_cast<std::size_t>(operation(o).rank)];
    for (int i = ordinal_[static_cast<std::size_t>(o)] - 1, seen = 0; i >= 0 && seen < 64; --i) {
      const OperationRecord& before = operation(mine[static_cast<std::size_t>(i)]);
      if (before.kind != OperationKind::store) continue;
      ++seen;
      if (before.transfer >= 0 && transfer(before.transfer).filled == when)
        return mine[static_cast<std::size_t>(i)];
    }
    return Log::none;
  }
  /// Of the rank's stores before `o` that became visible after `o` began, the last to do so.
  int drained_by(int o) const {
    const std::vector<int>& mine = of_rank_[static_cast<std::size_t>(operation(o).rank)];
    int last = Log::none;
    for (int i = ordinal_[static_cast<std::size_t>(o)] - 1, seen = 0; i >= 0 && seen < 64; --i) {
      const int b = mine[static_cast<std::size_t>(i)];
      if (operation(b).kind != OperationKind::store && operation(b).kind != OperationKind::copy) continue;
      ++seen;
      if (operation(b).visible <= operation(o).begun || operation(b).visible > time_) continue;
      if (last < 0 || operation(b).visible > operation(last).visible) last = b;
    }
    return last;
  }

  static LinkKind link_of(OperationKind kind) {
    switch (kind) {
      case OperationKind::store:
      case OperationKind::copy:
        return LinkKind::store;
      case OperationKind::atomic:
        return LinkKind::atomic;
      case OperationKind::load:
      case OperationKind::wait:
        return LinkKind::hear;
      default:
        return LinkKind::local;
    }
  }
  void open_operation(int o) {
    const OperationRecord& x = operation(o);
    const LinkKind kind = link_of(x.kind);
    open(kind, x.rank, kind == LinkKind::local ? Log::none : o,
         kind == LinkKind::local ? Log::none : x.transfer);
  }

  /// The rank went on from `o` at this time.
  void step_ended(int o) {
    const OperationRecord& x = operation(o);
    open_operation(o);
    switch (x.kind) {
      case OperationKind::load:
      case OperationKind::wait: {
        const Cycles looked = x.kind == OperationKind::wait && x.missed >= 0 ? x.missed : x.begun;
        // A value that the path needs earlier, but that came later, keeps its claim.
        if (x.cause >= 0 && operation(x.cause).visible > x.begun && operation(x.cause).visible > floor_) {
          floor_ = operation(x.cause).visible;
          floor_writer_ = x.cause;
        }
        if (x.transfer >= 0 && transfer(x.transfer).filled > looked &&
            transfer(x.transfer).filled <= x.ended) {
          if (!emit(Cause::instructions, transfer(x.transfer).filled)) return;
          return go_transfer(At::filled, x.transfer, o);
        }
        open(LinkKind::hear, x.rank, o, Log::none);
        if (!emit(Cause::instructions, looked)) return;
        return go_inside(o);
      }
      case OperationKind::store: {
        // The rank goes on before its store is visible, unless there was no room for it.
        open(LinkKind::local, x.rank, Log::none, Log::none);
        const int earlier = x.missed >= 0 && x.missed < x.ended ? store_visible_at(o, x.ended) : Log::none;
        if (earlier >= 0) return go_visible(earlier);
        if (!emit(Cause::instructions, x.begun)) return;
        return go_before(o);
      }
      case OperationKind::atomic: {
        const Cycles had = x.visible >= 0    ? x.visible
                           : x.transfer >= 0 ? std::max(transfer(x.transfer).filled, x.begun)
                                             : x.begun;
        if (!emit(Cause::instructions, had)) return;
        return go_visible(o);
      }
      case OperationKind::fence: {
        const int last = drained_by(o);
        if (!emit(Cause::instructions, last >= 0 ? operation(last).visible : x.begun)) return;
        return last >= 0 ? go_visible(last) : go_before(o);
      }
      case OperationKind::pause:
        if (!emit(Cause::polite, x.begun)) return;
        return go_before(o);
      case OperationKind::copy:
      case OperationKind::evict:
        if (!emit(Cause::instructions, x.begun)) return;
        return go_before(o);
    }
  }

  /// The value that `o` wrote can be read from this time on.
  void step_visible(int o) {
    const OperationRecord& x = operation(o);
    open_operation(o);
    const bool came =
        x.transfer >= 0 && transfer(x.transfer).filled <= time_ && transfer(x.transfer).filled > x.begun;
    if (x.kind == OperationKind::atomic) {
      if (came) {
        if (!emit(Cause::turn, transfer(x.transfer).filled)) return;
        return go_transfer(At::filled, x.transfer, o);
      }
      const int last = drained_by(o);
      if (!emit(Cause::turn, last >= 0 ? operation(last).visible : x.begun)) return;
      return last >= 0 ? go_visible(last) : go_before(o);
    }
    if (came && transfer(x.transfer).filled == time_) return go_transfer(At::filled, x.transfer, o);
    const int earlier = time_ > x.begun ? store_visible_at(o, time_) : Log::none;
    if (earlier >= 0) return go_visible(earlier);
    if (!emit(Cause::store_buffer, x.begun)) return;
    go_before(o);
  }

  /// Within `o`, at the time at which it asked for a line.
  void step_inside(int o) {
    const OperationRecord& x = operation(o);
    open_operation(o);
    if (time_ <= x.begun) return go_before(o);
    switch (x.kind) {
      case OperationKind::wait: {
        // It looked because the line had been taken away, or written by a context of its core.
        const Cycles taken = last_lost(cores_[static_cast<std::size_t>(x.rank)], x.line);
        open(LinkKind::hear, x.rank, o, Log::none);
        if (taken <= x.begun) {
          if (emit(Cause::look, x.begun)) go_before(o);
          return;
        }
        if (!emit(Cause::look, taken)) return;
        const int taker = taker_of(cores_[static_cast<std::size_t>(x.rank)], x.line, taken);
        if (taker >= 0) return go_transfer(At::filled, taker, Log::none);
        if (emit(Cause::look, x.begun)) go_before(o);
        return;
      }
      case OperationKind::store: {
        int earlier = store_visible_at(o, time_);
        if (earlier >= 0) return go_visible(earlier);
        earlier = store_filled_at(o, time_);
        if (earlier >= 0) return go_transfer(At::filled, operation(earlier).transfer, earlier);
        if (emit(Cause::store_buffer, x.begun)) go_before(o);
        return;
      }
      case OperationKind::atomic: {
        const int last = drained_by(o);
        // Between, the line came and was taken away before the update.
        if (!emit(Cause::line_busy, last >= 0 ? operation(last).visible : x.begun)) return;
        return last >= 0 ? go_visible(last) : go_before(o);
      }
      default:
        if (emit(Cause::instructions, x.begun)) go_before(o);
    }
  }

  /// When the core last lost the line, -1 for never; not after this time.
  Cycles last_lost(int core, LineId line) const {
    const auto found = lost_.find(key(core, line));
    if (found == lost_.end()) return -1;
    const auto after = std::upper_bound(found->second.begin(), found->second.end(), time_);
    return after == found->second.begin() ? -1 : *(after - 1);
  }
  /// The write that took the line from the core at that time.
  int taker_of(int core, LineId line, Cycles when) const {
    const auto found = of_line_.find(line);
    if (found == of_line_.end()) return Log::none;
    for (const int t : found->second) {
      const TransferRecord& x = transfer(t);
      if (is_write(x.kind) && x.core != core && x.begun < when && x.filled >= when) return t;
    }
    return Log::none;
  }
  /// The request whose end let the line's next one begin at `when`.
  int holder_until(const TransferRecord& next, Cycles when) const {
    const auto found = of_line_.find(next.line);
    if (found == of_line_.end()) return Log::none;
    int holder = Log::none;
    for (const int t : found->second) {
      const TransferRecord& x = transfer(t);
      if (x.freed != when || &x == &next || x.begun >= when) continue;
      if (holder < 0 || x.begun > transfer(holder).begun) holder = t;
    }
    return holder;
  }

  /// The read of a context of the core that made its prefetcher ask.
  int trainer_of(const TransferRecord& x) const {
    for (std::size_t r = 0; r < cores_.size(); ++r) {
      if (cores_[r] != x.core) continue;
      const std::vector<int>& mine = of_rank_[r];
      const auto after = std::upper_bound(mine.begin(), mine.end(), x.issued,
                                          [this](Cycles time, int o) { return time < operation(o).begun; });
      for (auto o = after; o != mine.begin() && operation(*(o - 1)).ended >= x.issued; --o) {
        const OperationRecord& read = operation(*(o - 1));
        const bool reads = read.kind == OperationKind::load || read.kind == OperationKind::wait ||
                           read.kind == OperationKind::copy;
        if (reads && (read.begun == x.issued || read.missed == x.issued)) return *(o - 1);
      }
    }
    return Log::none;
  }

  /// A stage of a transfer that began at `from`, unless it began earlier than the path got there.
  bool stage(Cause cause, Cycles from) {
    if (from < 0 || from >= time_) return true;
    return emit(cause, from);
  }

  /// From the end of a transfer, or the moment at which it freed its line, to the miss that asked for it.
  void step_transfer(int t, bool freed) {
    const TransferRecord& x = transfer(t);
    const int asker = served_ >= 0 ? served_ : issuer_[static_cast<std::size_t>(t)];
    if (served_ >= 0)
      open(link_of(operation(served_).kind), operation(served_).rank, served_, t);
    else
      open(LinkKind::queue, x.rank, issuer_[static_cast<std::size_t>(t)], t);
    if (x.kind == Request::get || x.kind == Request::put) return step_command(t);
    const bool memory = x.source == Source::memory;
    const bool table = x.directed < 0 && x.go < 0;
    if (freed && x.freed > x.filled && !stage(Cause::release_trip, x.filled)) return;
    // A read may free its line, and another request take it, before the read ends: stages later than the
    // path's time are skipped.
    if (!freed || x.freed > x.filled) {
      const bool by_go = x.go >= 0 && x.go >= x.data && x.go <= x.filled;
      if (!stage(Cause::fill, by_go ? x.go : x.data)) return;
      if (table) {
        if (!stage(Cause::transfer, x.begun)) return;
      } else if (by_go) {
        if (!stage(Cause::go_ahead, x.replied >= 0 ? x.replied : x.directed)) return;
      } else if (!stage(Cause::answer_trip, x.replied >= 0 ? x.replied : x.directed)) {
        return;
      }
    } else if (!stage(Cause::release_trip, x.replied >= 0 ? x.replied : x.directed)) {
      return;
    }
    if (!stage(memory ? Cause::memory : Cause::snoop, x.answered)) return;
    if (!stage(memory ? Cause::memory : Cause::cache_queue, x.asked)) return;
    if (!stage(Cause::forward_trip, x.directed)) return;
    if (!stage(Cause::directory_service, std::max(x.begun, x.resumed))) return;
    if (!stage(Cause::line_busy, x.begun)) return;
    if (x.begun > x.taken_up && time_ == x.begun) {
      const int holder = holder_until(x, x.begun);
      if (holder >= 0) return go_transfer(At::freed, holder, Log::none);
    }
    if (asker >= 0) open(link_of(operation(asker).kind), operation(asker).rank, asker, t);
    if (!stage(Cause::line_busy, x.taken_up)) return;
    if (!stage(Cause::directory_queue, x.arrived)) return;
    if (!stage(Cause::request_trip, x.sent)) return;
    if (!stage(Cause::held_back, x.issued)) return;
    // The rank that asked first: a context of the core may have joined its request.
    const int first = issuer_[static_cast<std::size_t>(t)];
    if (first >= 0) return go_inside(first);
    if (x.rank < 0) {
      const int trainer = trainer_of(x);
      if (trainer >= 0) return go_inside(trainer);
    }
    if (x.rank >= 0)
      return go_at(x.rank, static_cast<int>(of_rank_[static_cast<std::size_t>(x.rank)].size()));
    if (asker >= 0) return go_inside(asker);
    go_at(last_rank_, static_cast<int>(of_rank_[static_cast<std::size_t>(last_rank_)].size()));
  }

  /// From the end of a command between local stores to the operation that asked for it.
  void step_command(int t) {
    const TransferRecord& x = transfer(t);
    if (!stage(Cause::latency, x.data)) return;
    if (!stage(Cause::flow, x.answered)) return;
    if (!stage(Cause::carriers_busy, x.asked)) return;
    if (!stage(Cause::unit_busy, x.begun)) return;
    if (!stage(Cause::command_order, x.sent)) return;
    if (!stage(Cause::queue_place, x.issued)) return;
    const int o =
        served_ >= 0 && operation(served_).rank == x.rank ? served_ : issuer_[static_cast<std::size_t>(t)];
    if (o < 0) return go_at(x.rank, static_cast<int>(of_rank_[static_cast<std::size_t>(x.rank)].size()));
    open(LinkKind::local, x.rank, Log::none, Log::none);
    if (emit(Cause::instructions, operation(o).begun)) go_before(o);
  }

  const Log& log_;
  const std::vector<int>& cores_;
  std::vector<std::vector<int>> of_rank_;                 // operations in their order
  std::vector<int> ordinal_;                              // of each operation, among its rank's
  std::vector<int> issuer_;                               // of each transfer: the operation that asked for it
  std::unordered_map<LineId, std::vector<int>> of_line_;  // transfers
  std::unordered_map<std::uint64_t, std::vector<Cycles>> lost_;  // when a core lost a line

  Cycles start_ = 0, time_ = 0;
  Cycles floor_ = -1;  // when the awaited value became visible
  int floor_writer_ = Log::none;
  bool cut_ = false;
  At at_ = At::gap;
  int rank_ = 0, before_ = 0, subject_ = 0, served_ = Log::none;
  LinkKind kind_ = LinkKind::local;
  int link_rank_ = -1, link_operation_ = Log::none, link_transfer_ = Log::none, last_rank_ = 0;
  std::vector<PathLink> links_;
};

}  // namespace

const char* to_string(Cause cause) {
  return cause_texts[static_cast<std::size_t>(cause)].name;
}

const char* meaning_of(Cause cause) {
  return cause_texts[static_cast<std::size_t>(cause)].meaning;
}

const char* to_string(LinkKind kind) {
  constexpr const char* names[] = {"local", "store", "atomic", "hear", "queue"};
  return names[static_cast<std::size_t>(kind)];
}

std::array<Cycles, causes> CriticalPath::by_cause() const {
  std::array<Cycles, causes> sums{};
  for (const PathLink& link : links) {
    if (link.kind == LinkKind::queue) {
      sums[static_cast<std::size_t>(Cause::line_busy)] += link.to - link.from;
      continue;
    }
    for (const PathPart& part : link.parts) sums[static_cast<std::size_t>(part.cause)] += part.to - part.from;
  }
  return sums;
}

std::array<Cycles, causes> CriticalPath::in_queues() const {
  std::array<Cycles, causes> sums{};
  for (const PathLink& link : links)
    if (link.kind == LinkKind::queue)
      for (const PathPart& part : link.parts)
        sums[static_cast<std::size_t>(part.cause)] += part.to - part.from;
  return sums;
}

int CriticalPath::hand_overs() const {
  int count = 0;
  int before = -1;
  for (const PathLink& link : links) {
    if (link.kind == LinkKind::queue) continue;
    if (before >= 0 && link.rank != before) ++count;
    before = link.rank;
  }
  return count;
}

CriticalPath critical_path(const Log& log, const std::vector<int>& cores, int call) {
  return Walk(log, cores).run(call);
}

}  // namespace sim
}  // namespace phicoll
