#include "phicoll/measure/work.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "phicoll/collectives/contract/call_name.hpp"
#include "phicoll/collectives/verifying/program.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/support/nearest.hpp"
#include "phicoll/support/split.hpp"

namespace phicoll {
namespace measure {

std::string Work::name() const {
  if (program.any()) return program.text();
  return name_of_call(operation, vector, exclusive);
}

CallFacts Work::facts() const {
  CallFacts facts = call_of(operation, vector, static_cast<std::size_t>(bytes));
  facts.exclusive = exclusive;
  if (phicoll::reduces(operation)) {
    const Operator found = find_operator(type, op);
    facts.commutative = found.commutative;
    facts.associative = found.associative;
  }
  return facts;
}

std::string Work::text() const {
  std::string text = name();
  if (!moves_data()) return text;
  text += " " + std::to_string(bytes) + " " + buffers();
  if (reduces()) text += std::string(" ") + to_string(type) + " " + to_string(op);
  return text;
}

void Work::set_program(const programs::ProgramChoice& choice) {
  program = choice;
  operation = choice.info().facts.operation;
  bytes = choice.message_bytes();
  type = Type::float64;
}

void Work::set_buffers(const std::string& kind) {
  if (kind != "fresh" && kind != "reused" && kind != "heap")
    throw ArgumentError("buffers", "'" + kind + "'", "fresh, reused, heap");
  fresh = kind != "reused";
  heap = kind == "heap";
}

std::uint64_t send_bytes_of(const Work& work, int rank, int ranks) {
  return static_cast<std::uint64_t>(blocks_of_part(row_of(work.operation).sends, rank == 0, ranks)) *
         work.bytes;
}

std::uint64_t receive_bytes_of(const Work& work, int rank, int ranks) {
  if (work.exclusive && rank == 0) return 0;
  return static_cast<std::uint64_t>(blocks_of_part(row_of(work.operation).receives, rank == 0, ranks)) *
         work.bytes;
}

std::uint64_t moved_bytes(const Work& work, int ranks) {
  const auto p = static_cast<std::uint64_t>(ranks);
  // What a rank contributes to a reduction reaches the others once. In allreduce, the result goes back as
  // well.
  if (work.operation == Operation::reduce_scatter) return p * (p - 1) * work.bytes;
  if (work.operation == Operation::allreduce) return 2 * (p - 1) * work.bytes;
  if (work.reduces()) return (p - 1) * work.bytes;
  std::uint64_t received = 0;
  for (int rank = 0; rank < ranks; ++rank) received += receive_bytes_of(work, rank, ranks);
  return received;
}

std::vector<Piece> pieces_of(const Work& work, int ranks) {
  const OperationRow& row = row_of(work.operation);
  const ProgramCall call = program_call(work, ranks, 0);
  const bool own = !row.reduces && row.receives != Part::others_block;
  std::vector<Piece> pieces;
  for (int r = 0; r < ranks; ++r)
    for (const OutcomePart& part : outcome_of(call, r, ranks))
      for (int s = part.first; s <= part.last; ++s)
        if (own || s != r) pieces.push_back({s, r, part.from, part.at, part.bytes});
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.sender < b.sender; });
  return pieces;
}

ProgramCall program_call(const Work& work, int ranks, int root) {
  check_work(work);
  ProgramCall call;
  call.operation = work.operation;
  call.root = root;
  call.exclusive = work.exclusive;
  call.type = work.type;
  call.op = work.op;
  call.count = static_cast<std::size_t>(work.count());
  if (work.vector) call.counts = equal_counts(work.operation, ranks, call.count);
  return call;
}

std::vector<std::string> call_names() {
  std::vector<std::string> names;
  for (const auto& named : phicoll::call_names()) {
    const std::string name = name_of_call(named.second);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

Work parse_call(const std::string& name) {
  const CallFacts call = parse_call_name(name);
  Work work;
  work.operation = call.operation;
  work.vector = call.vector;
  work.exclusive = call.exclusive;
  return work;
}

Work parse_measured(const std::string& name) {
  const std::size_t dot = name.find('.');
  const int program = programs::find_program(name.substr(0, dot));
  if (program < 0) {
    try {
      return parse_call(name);
    } catch (const ArgumentError& error) {
      std::string names;
      for (const programs::ProgramInfo& info : programs::program_infos())
        names += std::string(", ") + info.facts.name;
      throw ArgumentError("operation", error.got(), error.allowed() + "; programs: " + names.substr(2));
    }
  }
  const std::string chosen = dot == std::string::npos ? "" : name.substr(dot + 1);
  const std::size_t way = chosen.find('.');
  Work work;
  work.set_program(programs::parse_choices(program, chosen.substr(0, way),
                                           way == std::string::npos ? "" : chosen.substr(way + 1))
                       .front());
  return work;
}

Work parse_work(const std::string& operation, std::uint64_t bytes, const std::string& type,
                const std::string& op) {
  Work work = parse_call(operation);
  work.bytes = work.moves_data() ? bytes : 0;
  if (work.reduces()) {
    work.type = parse_type(type);
    work.op = parse_op(op);
  }
  check_work(work);
  return work;
}

std::vector<std::uint64_t> parse_sizes(const std::string& text, const char* argument) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& part : split_list(text)) {
    char* end = nullptr;
    const unsigned long long number = std::strtoull(part.c_str(), &end, 10);
    unsigned shift = 0;
    const std::string unit(end);
    if (unit == "K" || unit == "k") shift = 10;
    if (unit == "M" || unit == "m") shift = 20;
    if (unit == "G" || unit == "g") shift = 30;
    const bool whole = !part.empty() && std::isdigit(static_cast<unsigned char>(part[0])) != 0 &&
                       (unit.empty() || shift != 0) && number <= (std::uint64_t{1} << 40) >> shift;
    if (!whole)
      throw ArgumentError(argument, "'" + part + "'", "bytes such as 8,4K,1M (K is 1024), at most 1024G");
    const std::uint64_t size = static_cast<std::uint64_t>(number) << shift;
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
  }
  return sizes;
}

std::uint64_t parse_size(const std::string& text) {
  const std::vector<std::uint64_t> sizes = parse_sizes(text, "size");
  if (sizes.size() != 1) throw ArgumentError("size", "'" + text + "'", "one");
  return sizes.front();
}

void check_work(const Work& work) {
  if (!work.reduces()) return;
  find_operator(work.type, work.op);
  const std::size_t element = bytes_of(work.type);
  if (work.bytes % element != 0)
    throw ArgumentError("size", std::to_string(work.bytes) + " bytes",
                        "a multiple of " + std::to_string(element) + ", the size of " + to_string(work.type));
}

}  // namespace measure
}  // namespace phicoll
