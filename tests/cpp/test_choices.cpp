// What `auto` takes of every operation, by 1 to 240 ranks, each with a CPU or sharing some, of 0 B to 64 MB
// and beyond, by the default numbers and by others, as choices_golden.txt has it. PHICOLL_TEST_REGENERATE=1
// writes the file again, after a change of the choice that is meant.

#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "level_shapes.hpp"
#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/contract/operation.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/support/text_hash.hpp"

namespace phicoll {
namespace {

constexpr int most_ranks = 240;

struct Kind {
  const char* name;
  Shape (*of)(int ranks);
};
Shape spread(int ranks, const std::vector<CpuLocation>& machine) {
  return place_ranks(ranks, machine, Placement::balanced);
}
const Kind kinds[] = {
    {"a CPU each", [](int ranks) { return Shape::unknown(ranks); }},
    {"two packages", [](int ranks) { return spread(ranks, level_shapes::machine(2, 1, 15, 8, 1)); }},
    {"cores of four", [](int ranks) { return spread(ranks, uniform_machine(60, 4)); }},
    {"crowded", [](int ranks) { return Shape::unknown(ranks, true); }},
    {"on 2 CPUs", [](int ranks) { return spread(ranks, uniform_machine(2, 1)); }},
    {"on 3 CPUs", [](int ranks) { return spread(ranks, uniform_machine(3, 1)); }},
};

/// The calls of an operation whose choices may differ.
std::map<std::string, CallFacts> calls_of(Operation operation) {
  const OperationRow& row = row_of(operation);
  CallFacts facts;
  facts.operation = operation;
  std::map<std::string, CallFacts> calls = {{row.mpi_name, facts}};
  if (row.vector_name != nullptr) {
    CallFacts vector = facts;
    vector.vector = true;
    vector.known = row.counts_known;
    calls[row.vector_name] = vector;
  }
  if (row.reduces) {
    CallFacts ordered = facts;
    ordered.commutative = false;
    calls[std::string(row.mpi_name) + " in order"] = ordered;
    ordered.associative = false;
    calls[std::string(row.mpi_name) + " one by one"] = ordered;
  }
  return calls;
}

/// Every choice by size, a line each: from which bytes on, the algorithm, the reason, the numbers.
std::string choices(const Shape& shape, CallFacts facts) {
  std::ostringstream lines;
  for (facts.bytes = 0;;) {
    const AlgorithmChoice choice = choose(shape, facts);
    EXPECT_LE(choice.least, facts.bytes);
    EXPECT_GE(choice.most, facts.bytes);
    lines << "  " << facts.bytes << " " << choice.spec.text() << " | " << choice.why << " | "
          << choice.numbers << "\n";
    if (choice.most == SIZE_MAX) return lines.str();
    facts.bytes = choice.most + 1;
  }
}

/// Any numbers that a table may set.
HostNumbers drawn(unsigned seed) {
  std::mt19937_64 random(seed);
  HostNumbers numbers;
  for (const HostNumberField& field : host_number_fields) {
    if (is_mark(field)) continue;
    // Sizes about as often in each power of two, to 1 GB.
    const std::int64_t most = std::min<std::int64_t>(field.most, std::int64_t{1} << 30);
    std::int64_t range = most;
    while (range > 2 * (field.least + 1) && random() % 8 != 0) range /= 2;
    numbers.*field.value = field.least + static_cast<std::int64_t>(
                                             random() % static_cast<std::uint64_t>(range - field.least + 1));
  }
  return numbers;
}

/// Groups of ranks in the file: neighbours whose choices are alike have one entry, and later ones refer to
/// the first.
std::string by_default() {
  std::ostringstream text;
  std::map<std::string, std::string> known;  // the first entry with these choices
  for (int o = 0; o < operations; ++o)
    for (const auto& call : calls_of(static_cast<Operation>(o)))
      for (const Kind& kind : kinds) {
        std::string last;
        int first = 1;
        const auto write = [&](int to) {
          const std::string name = call.first + ", " + kind.name + ", " + std::to_string(first) + " to " +
                                   std::to_string(to) + " ranks";
          const auto found = known.emplace(last, name);
          text << name << (found.second ? "\n" + last : ": as " + found.first->second + "\n");
        };
        for (const int ranks :
             {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 31, 32, 48, 64, 65, 96, 128, 129, 200, most_ranks}) {
          const std::string now = choices(kind.of(ranks), call.second);
          if (!last.empty() && now != last) write(ranks - 1);
          if (now != last) first = ranks;
          last = now;
        }
        write(most_ranks);
      }
  return text.str();
}
/// A digest for each call and kind, over all ranks by the default numbers, and over fewer by other numbers.
std::string digests() {
  std::ostringstream text;
  for (int o = 0; o < operations; ++o)
    for (const auto& call : calls_of(static_cast<Operation>(o)))
      for (const Kind& kind : kinds) {
        std::string all;
        for (int ranks = 1; ranks <= most_ranks; ++ranks) {
          Shape shape = kind.of(ranks);
          if (ranks <= 16 || ranks % 8 == 0 || ranks % 32 == 1) all += choices(shape, call.second);
          if (ranks > 5 && ranks != 8 && ranks != 9 && ranks != 65) continue;
          for (unsigned seed = 1; seed <= 6; ++seed) {
            shape.set_host(drawn(seed));
            all += choices(shape, call.second);
          }
        }
        text << call.first << ", " << kind.name << ": " << std::hex << text_hash(all) << std::dec << "\n";
      }
  return text.str();
}

TEST(Choices, AreThoseOfTheGoldenFile) {
  const std::string path = PHICOLL_TEST_FOLDER "/choices_golden.txt";
  const std::string now = by_default() + "\n" + digests();
  if (std::getenv("PHICOLL_TEST_REGENERATE") != nullptr) {
    std::ofstream file(path);
    file << now;
    ASSERT_TRUE(file.good());
    GTEST_SKIP() << path << " was written again";
  }
  std::ifstream file(path);
  std::istringstream lines(now);
  std::string group, line, wanted;
  for (int number = 1; std::getline(file, wanted); ++number) {
    ASSERT_TRUE(std::getline(lines, line)) << "the file has more lines";
    if (line.compare(0, 2, "  ") != 0) group = line;
    ASSERT_EQ(line, wanted) << "line " << number << ", " << group;
  }
  EXPECT_FALSE(std::getline(lines, line)) << "the file lacks '" << line << "'";
}

}  // namespace
}  // namespace phicoll
