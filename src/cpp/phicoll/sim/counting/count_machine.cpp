#include "phicoll/sim/counting/count_machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "phicoll/errors.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/support/aligned_vector.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {

namespace {

constexpr std::int64_t none = -1;
/// Fruitless turns of polling ranks, for each rank, after which they count as waiting for ever.
constexpr std::int64_t vain_turns_a_rank = 64;
/// The most ranks for which the machine follows which rank has heard of which: one bit for each rank and word
/// takes memory that grows as P^3.
constexpr int most_ranks_heard = 256;

}  // namespace

struct CountMachine::Member {
  int rank;
  bool consumed;
};

/// The record of a word. It says nothing if `call`, when the word was last written, is an earlier call.
struct CountMachine::WordState {
  unsigned offset = 0;
  std::uint64_t call = 0;
  int writer = none;  // of the value that lies there
  // The farthest writer whose contribution the value holds, and the farthest among all other ranks: in
  // rounds.
  std::int64_t rounds = none;
  int rounds_rank = none;
  std::int64_t rounds_of_others = none;
  // Chain up to the value, and up to the one before it (the last writer's own chain).
  std::int64_t chain = 0;
  std::int64_t chain_before = 0;
  std::vector<std::uint64_t> heard;   // whose entry the value tells of: a bit a rank, or empty
  std::vector<int> readers;           // of this version
  std::vector<std::int64_t> records;  // contributions that no other rank has obtained yet
};

struct CountMachine::Line {
  std::uint64_t written = 0;  // the last call in which
  std::vector<WordState> words;
  WordState whole;           // the last whole-line store: the state of words first looked at after it
  std::vector<int> waiters;  // ranks that wait for something in this line
};

CountMachine::CountMachine(const Shape& shape, std::size_t bytes)
    : shape_(shape),
      cpu_(shape.groups(Level::cpu)),
      core_(shape.groups(Level::core)),
      l3_(shape.groups(Level::l3)),
      numa_(shape.groups(Level::numa)),
      bytes_(arch::whole_strides(bytes)),
      lines_(bytes_ / arch::line_bytes),
      ranks_(static_cast<std::size_t>(shape.size())) {
  memory_ = static_cast<unsigned char*>(allocate_strided(bytes_));
  std::memset(memory_, 0, bytes_);
  if (shape.size() <= most_ranks_heard) heard_words_ = (ranks_.size() + 63) / 64;
}

CountMachine::~CountMachine() {
  // Fibers that did not finish are unwound before what they look at goes away.
  for (RankState& rank : ranks_) rank.fiber.reset();
  std::free(memory_);
}

CountMachine::Line& CountMachine::line_of(const void* place) {
  const auto* const byte = static_cast<const unsigned char*>(place);
  PHICOLL_ASSERT(
      EveryBuild, byte >= memory_ && byte < memory_ + bytes_,
      "an algorithm uses a word outside the " + std::to_string(bytes_) + " bytes of its footprint");
  return lines_[static_cast<std::size_t>(byte - memory_) / arch::line_bytes];
}

CountMachine::WordState& CountMachine::word_of(const void* word) {
  Line& line = line_of(word);
  const auto offset = static_cast<unsigned>(
      static_cast<std::size_t>(static_cast<const unsigned char*>(word) - memory_) % arch::line_bytes);
  for (WordState& state : line.words)
    if (state.offset == offset) return state;
  line.words.push_back(line.whole);
  line.words.back().offset = offset;
  return line.words.back();
}

/// Records that the word holds a new value by `rank`, whose counters say what led to it.
void CountMachine::start_version(WordState& word, int rank, Write how, bool ordered, std::int64_t record) {
  const RankState& self = ranks_[static_cast<std::size_t>(rank)];
  const bool update = how == Write::arrival || how == Write::signal_update;
  if (word.call != call_ || !update) {
    word.call = call_;
    word.rounds = none;
    word.rounds_rank = none;
    word.rounds_of_others = none;
    word.records.clear();
    word.heard.clear();
  }
  // An update carries on what the updates before it released; a store does not.
  if (ordered && heard_words_ != 0) {
    word.heard.resize(heard_words_);
    for (std::size_t i = 0; i < heard_words_; ++i) word.heard[i] |= self.heard[i];
  }
  word.writer = rank;
  word.readers.clear();
  if (self.rounds > word.rounds) {
    if (word.rounds_rank != rank) word.rounds_of_others = word.rounds;
    word.rounds = self.rounds;
    word.rounds_rank = rank;
  } else if (rank != word.rounds_rank && self.rounds > word.rounds_of_others) {
    word.rounds_of_others = self.rounds;
  }
  const bool counted = how == Write::signal || how == Write::signal_update;
  word.chain_before = self.chain - (counted ? 1 : 0);
  word.chain = word.chain_before + 1;
  if (record != none) word.records.push_back(record);
}

void CountMachine::finish_write(int rank, Line& line) {
  if (line.written != call_) {
    line.written = call_;
    ++counts_.lines_written;
  }
  counts_.longest_chain = std::max(counts_.longest_chain, ranks_[static_cast<std::size_t>(rank)].chain);
  idle_turns_ = 0;
  for (std::size_t i = 0; i < line.waiters.size();) {
    const int waiter = line.waiters[i];
    RankState& state = ranks_[static_cast<std::size_t>(waiter)];
    if (!state.awaited.holds()) {
      ++i;
      continue;
    }
    // In the order in which they began to wait.
    line.waiters.erase(line.waiters.begin() + static_cast<std::ptrdiff_t>(i));
    state.waiting = false;
    ready_.push_back(waiter);
  }
}

void CountMachine::wrote(int rank, const void* place, Write how, bool ordered) {
  note_use(rank, place, 1, false);
  RankState& self = ranks_[static_cast<std::size_t>(rank)];
  WordState& word = word_of(place);
  // An atomic update queues after earlier ones: it is done when they are.
  if ((how == Write::arrival || how == Write::signal_update) && word.call == call_)
    self.chain = std::max(self.chain, word.writer == rank ? word.chain_before : word.chain);
  std::int64_t record = none;
  if (how == Write::signal || how == Write::signal_update) {
    ++counts_.notifications;
    ++self.chain;
  } else {
    record = static_cast<std::int64_t>(records_.size());
    records_.push_back(Member{rank, false});
  }
  start_version(word, rank, how, ordered, record);
  finish_write(rank, line_of(place));
}

void CountMachine::wrote_line(int rank, const void* place, Write how) {
  note_use(rank, place, arch::line_bytes, false);
  RankState& self = ranks_[static_cast<std::size_t>(rank)];
  Line& line = line_of(place);
  std::int64_t record = none;
  if (how == Write::signal) {
    ++counts_.notifications;
    ++self.chain;
  } else {
    record = static_cast<std::int64_t>(records_.size());
    records_.push_back(Member{rank, false});
  }
  start_version(line.whole, rank, how, true, record);
  for (WordState& word : line.words) start_version(word, rank, how, true, record);
  finish_write(rank, line);
}

/// Counts the edge to `rank` if the word holds another rank's value of this call that it has not yet
/// obtained. Returns whether the value is another's.
bool CountMachine::look_edge(int rank, WordState& word, int from) {
  if (word.call != call_ || word.writer == rank) return false;
  if (std::find(word.readers.begin(), word.readers.end(), rank) != word.readers.end()) return true;
  word.readers.push_back(rank);
  const auto a = static_cast<std::size_t>(word.writer);
  const auto b = static_cast<std::size_t>(rank);
  ++counts_.edges;
  if (cpu_[a] != cpu_[b]) ++counts_.edges_between_cpus;
  if (core_[a] != core_[b]) ++counts_.edges_between_cores;
  if (l3_[a] != l3_[b]) ++counts_.edges_between_l3;
  if (numa_[a] != numa_[b]) ++counts_.edges_between_numa;
  if (from != any_rank && from != word.writer) ++counts_.wrong_hints;
  return true;
}

std::int64_t CountMachine::rounds_behind(int rank, const WordState& word) const {
  if (word.call != call_) return none;
  return word.rounds_rank == rank ? word.rounds_of_others : word.rounds;
}

/// Other ranks' contributions were used, so those that were not signals are notifications now.
void CountMachine::consume(int rank, WordState& word) {
  if (word.call != call_) return;
  auto kept = word.records.begin();
  for (const std::int64_t record : word.records) {
    Member& member = records_[static_cast<std::size_t>(record)];
    if (member.rank == rank) {
      *kept++ = record;
    } else if (!member.consumed) {
      member.consumed = true;
      ++counts_.notifications;
    }
  }
  word.records.erase(kept, word.records.end());
}

/// `rank` has obtained the word's value.
void CountMachine::follow(int rank, WordState& word, int from, bool ordered) {
  if (word.call != call_) return;
  if (ordered) hear(rank, word);
  look_edge(rank, word, from);
  consume(rank, word);
  RankState& self = ranks_[static_cast<std::size_t>(rank)];
  self.chain = std::max(self.chain, word.writer == rank ? word.chain_before : word.chain);
  counts_.longest_chain = std::max(counts_.longest_chain, self.chain);
  used(rank, rounds_behind(rank, word));
}

/// An acquire of the word by `rank`.
void CountMachine::hear(int rank, const WordState& word) {
  if (word.call != call_) return;
  std::vector<std::uint64_t>& heard = ranks_[static_cast<std::size_t>(rank)].heard;
  for (std::size_t i = 0; i < word.heard.size(); ++i) heard[i] |= word.heard[i];
}

/// Throws unless `rank` has heard of all.
void CountMachine::check_heard(int rank) const {
  if (entered_ != shape_.size())
    throw Error("counting: rank " + std::to_string(rank) + " left the barrier when only " +
                std::to_string(entered_) + " of " + std::to_string(shape_.size()) + " ranks had entered");
  if (heard_words_ == 0) return;
  const std::vector<std::uint64_t>& heard = ranks_[static_cast<std::size_t>(rank)].heard;
  for (int other = 0; other < shape_.size(); ++other)
    if ((heard[static_cast<std::size_t>(other) / 64] >> (other % 64) & 1) == 0)
      throw Error("counting: rank " + std::to_string(rank) + " left the barrier and had not heard of rank " +
                  std::to_string(other));
}

/// Notes who waits for these bytes, or writes them: the first rank and another, or that there are more.
void CountMachine::note_use(int rank, const void* place, std::size_t bytes, bool waits) {
  if (uses_.empty() || bytes == 0) return;
  const auto at = static_cast<std::size_t>(static_cast<const unsigned char*>(place) - memory_);
  for (std::size_t i = at / use_bytes; i <= (at + bytes - 1) / use_bytes; ++i) {
    std::int16_t& first = waits ? uses_[i].waits : uses_[i].writes;
    std::int16_t& other = waits ? uses_[i].waits_too : uses_[i].writes_too;
    if (first == -1) first = static_cast<std::int16_t>(rank);
    if (first == rank || other == rank) continue;
    other = other == -1 ? static_cast<std::int16_t>(rank) : std::numeric_limits<std::int16_t>::max();
  }
}

void CountMachine::obtained(int rank, const void* word, bool ordered) {
  follow(rank, word_of(word), any_rank, ordered);
}

void CountMachine::obtained_line(int rank, const void* place) {
  for (WordState& word : line_of(place).words) follow(rank, word, any_rank, true);
}

std::int64_t CountMachine::obtained_by_update(int rank, const void* place, bool sets_bits) {
  if (!uses_.empty() && !sets_bits)
    uses_[static_cast<std::size_t>(static_cast<const unsigned char*>(place) - memory_) / use_bytes].atomic =
        true;
  WordState& word = word_of(place);
  hear(rank, word);
  look_edge(rank, word, any_rank);
  consume(rank, word);
  return rounds_behind(rank, word);
}

void CountMachine::used(int rank, std::int64_t behind) {
  if (behind == none) return;
  RankState& self = ranks_[static_cast<std::size_t>(rank)];
  self.rounds = std::max(self.rounds, behind + 1);
  counts_.rounds = std::max(counts_.rounds, self.rounds);
}

void CountMachine::suspend(int rank) {
  ranks_[static_cast<std::size_t>(rank)].fiber->suspend();
}

void CountMachine::wait(int rank, const Awaited& awaited) {
  note_use(rank, awaited.place, awaited.whole_line ? arch::line_bytes : 1, true);
  RankState& self = ranks_[static_cast<std::size_t>(rank)];
  // Looks again after every wake: between the store that woke this rank and its turn, the word may have
  // changed.
  while (!awaited.holds()) {
    self.awaited = awaited;
    self.waiting = true;
    line_of(awaited.place).waiters.push_back(rank);
    suspend(rank);
  }
  if (!awaited.whole_line) {
    follow(rank, word_of(awaited.place), awaited.from, true);
    return;
  }
  const auto* const bytes = static_cast<const unsigned char*>(awaited.place);
  for (unsigned b = 0; b < arch::line_bytes; ++b)
    if ((awaited.mask >> b & 1) != 0) follow(rank, word_of(bytes + b), awaited.from, true);
}

void CountMachine::pause(int rank) {
  // Polling: give the others a turn. If all turns are in vain, so is the wait.
  if (++idle_turns_ > vain_turns_a_rank * shape_.size()) throw_deadlock("poll");
  ready_.push_back(rank);
  suspend(rank);
}

void CountMachine::throw_deadlock(const char* what) {
  std::string text;
  int listed = 0;
  int waiting = 0;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const RankState& rank = ranks_[r];
    if (!rank.entered || rank.left) continue;
    ++waiting;
    if (listed == 8) continue;
    ++listed;
    text += (text.empty() ? "" : "; ") + std::string("rank ") + std::to_string(r);
    if (!rank.waiting) {
      text += " polls";
      continue;
    }
    const Awaited& a = rank.awaited;
    const auto offset = static_cast<const unsigned char*>(a.place) - memory_;
    text += " for the " + std::string(a.whole_line ? "line" : "word") + " at byte " + std::to_string(offset);
    if (!a.whole_line) text += a.text();
  }
  if (waiting > listed) text += "; and " + std::to_string(waiting - listed) + " more";
  throw Error("counting: " + std::to_string(waiting) + " ranks " + what + " for ever: " + text);
}

void CountMachine::run_ready() {
  while (!ready_.empty()) {
    const int rank = ready_.front();
    ready_.pop_front();
    ranks_[static_cast<std::size_t>(rank)].fiber->resume();
  }
}

Counts CountMachine::run_call(const std::function<void(int)>& body, const std::vector<int>& order,
                              bool barrier) {
  barrier_ = barrier;
  forget_data();
  ++call_;
  counts_ = Counts();
  entered_ = 0;
  idle_turns_ = 0;
  records_.clear();
  body_ = &body;
  const int size = shape_.size();
  for (int r = 0; r < size; ++r) {
    RankState& state = ranks_[static_cast<std::size_t>(r)];
    state.rounds = 0;
    state.chain = 0;
    state.entered = false;
    state.left = false;
    state.heard.assign(heard_words_, 0);
    if (heard_words_ != 0) state.heard[static_cast<std::size_t>(r) / 64] |= std::uint64_t{1} << (r % 64);
    if (!state.fiber) {
      // The fiber serves all calls: a stack and a start cost more than a switch.
      state.fiber.reset(new os::Fiber([this, r] {
        for (RankState& self = ranks_[static_cast<std::size_t>(r)];;) {
          self.entered = true;
          ++entered_;
          (*body_)(r);
          self.left = true;
          if (barrier_) check_heard(r);
          suspend(r);
        }
      }));
    }
    ready_.push_back(order.empty() ? r : order[static_cast<std::size_t>(r)]);
  }
  run_ready();
  for (const RankState& state : ranks_)
    if (!state.left) throw_deadlock("wait");
  return counts_;
}

}  // namespace phicoll
