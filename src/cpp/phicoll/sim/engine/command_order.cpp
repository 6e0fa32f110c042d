#include "phicoll/sim/engine/command_order.hpp"

#include <algorithm>
#include <bit>

#include "phicoll/errors.hpp"

namespace phicoll {
namespace sim {

namespace {

std::uintptr_t entry_of(const void* place) {
  return reinterpret_cast<std::uintptr_t>(place) / 16;
}
std::uintptr_t word_of(const void* place) {
  return reinterpret_cast<std::uintptr_t>(place) / 8;
}

std::string store_name(int rank, int of) {
  if (of == DmaCommand::main_memory) return "main memory";
  return of == rank ? "its local store" : "rank " + std::to_string(of) + "'s local store";
}

std::string name_of(int rank, std::uint32_t number, const DmaCommand& c) {
  return "command " + std::to_string(number) + " of rank " + std::to_string(rank) + " (" +
         (c.word ? "a word" : "data") + ", " + std::to_string(c.bytes) + " bytes from " +
         store_name(rank, c.source) + " to " + store_name(rank, c.target) + ")";
}

}  // namespace

bool CommandOrder::Known::has(Number number) const {
  return number <= upto && !std::binary_search(missing.begin(), missing.end(), number);
}

void CommandOrder::Known::add(Number number) {
  while (upto < number) missing.push_back(++upto);
  const auto found = std::lower_bound(missing.begin(), missing.end(), number);
  if (found != missing.end() && *found == number) missing.erase(found);
}

void CommandOrder::Known::join(const Known& other) {
  std::vector<Number> still;
  for (const Number n : missing)
    if (!other.has(n)) still.push_back(n);
  for (const Number n : other.missing)
    if (n > upto) still.push_back(n);
  missing = std::move(still);
  upto = std::max(upto, other.upto);
}

CommandOrder::CommandOrder(std::size_t ranks)
    : knows_(ranks, Knowledge(ranks)), count_(ranks), pending_(ranks) {}

void CommandOrder::join(Knowledge& knows, const Knowledge& more) {
  for (std::size_t r = 0; r < knows.size(); ++r) knows[r].join(more[r]);
}

void CommandOrder::issued(int rank, int slot, const DmaCommand& command) {
  const auto r = static_cast<std::size_t>(rank);
  Pending one{++count_[r], slot, false, command, knows_[r]};
  for (auto earlier = pending_[r].rbegin(); earlier != pending_[r].rend(); ++earlier) {
    if (!command.follows(earlier->command)) continue;
    join(one.knows, earlier->knows);
    one.knows[r].add(earlier->number);
    if (earlier->command.fenced || earlier->command.barriered) break;  // it knows of those before
  }
  Known& own = knows_[r][r];
  while (own.upto < one.number) own.missing.push_back(++own.upto);
  pending_[r].push_back(std::move(one));
}

void CommandOrder::ended(int rank, int slot) {
  const auto r = static_cast<std::size_t>(rank);
  const auto found = std::find_if(pending_[r].begin(), pending_[r].end(),
                                  [&](const Pending& p) { return p.slot == slot && !p.ended; });
  Pending& one = *found;
  const DmaCommand& c = one.command;
  one.ended = true;
  const std::string what = name_of(rank, one.number, c);
  if (c.from != nullptr && !c.word)
    access({rank, one.number, c.from, c.bytes, false, false, what}, one.knows);
  if (c.to == nullptr) return;
  access({rank, one.number, c.to, c.bytes, true, c.word, what}, one.knows);
  if (c.word) note_word(c.to, c.bytes, one.knows, rank, one.number);
}

void CommandOrder::waited(int rank, int slot) {
  const auto r = static_cast<std::size_t>(rank);
  auto& mine = pending_[r];
  for (std::size_t i = mine.size(); i-- > 0;) {
    if (mine[i].slot != slot) continue;
    join(knows_[r], mine[i].knows);
    knows_[r][r].add(mine[i].number);
    mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

/// The rank knows of the ended commands that `which` chooses.
template <class Which>
void CommandOrder::learn(int rank, Which which) {
  const auto r = static_cast<std::size_t>(rank);
  std::erase_if(pending_[r], [&](const Pending& one) {
    if (!one.ended || !which(one.command)) return false;
    join(knows_[r], one.knows);
    knows_[r][r].add(one.number);
    return true;
  });
}

void CommandOrder::waited(int rank, const unsigned char* place, std::size_t bytes) {
  learn(rank, [&](const DmaCommand& c) { return place == nullptr || c.meets(place, bytes); });
}

void CommandOrder::asked(int rank, const DmaCommand& next) {
  learn(rank, [&](const DmaCommand& c) { return next.needs(c); });
}

void CommandOrder::accessed(int rank, const void* place, std::size_t bytes, bool writes, bool word) {
  const auto r = static_cast<std::size_t>(rank);
  const auto* const from = static_cast<const unsigned char*>(place);
  if (word && !writes) {
    // It looks for a command that a later one of its rank's, of which the reader knows, may overtake.
    const auto overtaken = [&](int writer, Number number) {
      const Known& of = knows_[r][static_cast<std::size_t>(writer)];
      return number < of.upto && !of.has(number);
    };
    const auto refuse = [&](int writer, const unsigned char* to, const std::string& what) {
      const Number upto = knows_[r][static_cast<std::size_t>(writer)].upto;
      const Access* other = nullptr;
      for (const auto& of_power : accesses_)
        for (const auto& [at, a] : of_power)
          if (a.rank == writer && a.number == upto && (other == nullptr || a.turn < other->turn)) other = &a;
      throw Error(
          "simulation: no order between " + what + " and " +
          (other != nullptr ? other->what
                            : "command " + std::to_string(upto) + " of rank " + std::to_string(writer)) +
          (other != nullptr && entry_of(other->place) == entry_of(to) ? ", halves of the same 16 bytes"
                                                                      : "") +
          ": rank " + std::to_string(rank) + " knows of the second and loads what the first writes");
    };
    const Access* first = nullptr;
    meeting(from, bytes, [&](const Access& a) {
      if (a.writes && a.word && overtaken(a.rank, a.number) && (first == nullptr || a.turn < first->turn))
        first = &a;
    });
    if (first != nullptr) refuse(first->rank, first->place, first->what);
    for (std::size_t w = 0; w < pending_.size(); ++w)
      for (const Pending& p : pending_[w]) {
        const DmaCommand& c = p.command;
        const int writer = static_cast<int>(w);
        if (!p.ended && c.word && DmaCommand::meet(from, bytes, c.to, c.bytes) && overtaken(writer, p.number))
          refuse(writer, c.to, name_of(writer, p.number, c));
      }
    return;
  }
  const Number number = ++count_[r];
  knows_[r][r].add(number);
  access({rank, number, from, bytes, writes, word,
          "rank " + std::to_string(rank) + "'s own " + (writes ? "store" : "load") + " of " +
              std::to_string(bytes) + " bytes"},
         knows_[r]);
  if (writes && word) note_word(place, bytes, knows_[r], rank, number);
}

void CommandOrder::note_word(const void* place, std::size_t bytes, const Knowledge& knows, int rank,
                             Number number) {
  const auto* const last = static_cast<const unsigned char*>(place) + bytes - 1;
  for (std::uintptr_t at = word_of(place); at <= word_of(last); ++at) {
    Knowledge& told = words_[at];
    if (told.empty()) told.resize(knows.size());
    join(told, knows);
    told[static_cast<std::size_t>(rank)].add(number);
  }
}

void CommandOrder::heard(int rank, const void* word) {
  const auto found = words_.find(word_of(word));
  if (found != words_.end()) join(knows_[static_cast<std::size_t>(rank)], found->second);
}

void CommandOrder::updated(int rank, const void* word) {
  const auto r = static_cast<std::size_t>(rank);
  heard(rank, word);
  const Number number = ++count_[r];
  knows_[r][r].add(number);
  note_word(word, 1, knows_[r], rank, number);
}

/// Calls `visit` with each access that is kept of any of these bytes.
template <class Visit>
void CommandOrder::meeting(const unsigned char* place, std::size_t bytes, Visit visit) const {
  const auto at = reinterpret_cast<std::uintptr_t>(place);
  for (std::size_t power = 0; power < accesses_.size(); ++power) {
    const auto& kept = accesses_[power];
    for (auto one = kept.upper_bound(at - (std::uintptr_t{1} << power));
         one != kept.end() && one->first < at + bytes; ++one)
      if (DmaCommand::meet(place, bytes, one->second.place, one->second.bytes)) visit(one->second);
  }
}

void CommandOrder::access(Access access, const Knowledge& knows) {
  const Access* first = nullptr;  // that it does not know of
  meeting(access.place, access.bytes, [&](const Access& earlier) {
    if (!access.writes && !earlier.writes) return;
    const bool same = earlier.rank == access.rank;
    if (access.word && earlier.word && !same) return;
    if (same && earlier.number == access.number) return;
    if (knows[static_cast<std::size_t>(earlier.rank)].has(earlier.number)) return;
    if (first == nullptr || earlier.turn < first->turn) first = &earlier;
  });
  if (first != nullptr) fail(access, *first, knows);
  const auto power = static_cast<std::size_t>(std::bit_width(access.bytes));
  if (accesses_.size() <= power) accesses_.resize(power + 1);
  access.turn = ++turns_;
  accesses_[power].emplace(reinterpret_cast<std::uintptr_t>(access.place), std::move(access));
  if (++kept_ > room_) forget();
}

/// Forgets what all ranks know of: whatever comes follows it.
void CommandOrder::forget() {
  for (auto& of_power : accesses_)
    kept_ -= std::erase_if(of_power, [&](const auto& kept) {
      const Access& a = kept.second;
      return std::all_of(knows_.begin(), knows_.end(), [&](const Knowledge& k) {
        return k[static_cast<std::size_t>(a.rank)].has(a.number);
      });
    });
  room_ = 2 * kept_ + 64;
}

void CommandOrder::fail(const Access& later, const Access& earlier, const Knowledge& knows) const {
  const Known& of = knows[static_cast<std::size_t>(earlier.rank)];
  const std::string heard = earlier.rank != later.rank && of.upto > earlier.number
                                ? "; of rank " + std::to_string(earlier.rank) + " the second knows command " +
                                      std::to_string(of.upto) + ", which may overtake the first"
                                : "";
  throw Error("simulation: no order between " + earlier.what + " and " + later.what + ", which " +
              (earlier.writes ? "writes" : "reads") + " and " + (later.writes ? "writes" : "reads") +
              " the same bytes" + heard);
}

}  // namespace sim
}  // namespace phicoll
