#include "phicoll/collectives/verifying/program.hpp"

#include <algorithm>
#include <cstring>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/support/split_mix.hpp"

namespace phicoll {

namespace {

std::uint64_t mixed(std::uint64_t seed) {
  return split_mix(seed);
}

std::uint64_t mixed(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  return mixed(mixed(mixed(seed) ^ a) ^ (b << 20));
}

void draw_bytes(std::uint64_t seed, unsigned char* to, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = mixed(seed + i);
    std::memcpy(to + i, &word, std::min<std::size_t>(8, bytes - i));
  }
}

template <class T>
void put(unsigned char* to, int value) {
  const T number = static_cast<T>(value);
  std::memcpy(to, &number, sizeof number);
}

/// The leading bits of a float32; `bias` takes its exponent to the half's.
void put_half(unsigned char* to, int value, int shift, std::uint32_t bias) {
  const float number = static_cast<float>(value);
  std::uint32_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  const std::uint32_t size = value == 0 ? 0 : ((bits & 0x7fffffffu) - bias) >> shift;
  const auto half = static_cast<std::uint16_t>(size | (bits >> 16 & 0x8000u));
  std::memcpy(to, &half, sizeof half);
}

bool is_complex(Type type) {
  return type == Type::complex64 || type == Type::complex128;
}

// Sums of such values are small integers. Products are of powers of two and of 2 + i, whose powers have no
// part that is zero: the sign of a zero would depend on the order.
void draw_element(std::uint64_t drawn, Type type, Op op, unsigned char* to) {
  static const int few[] = {1, -1, 2, 1, -1, 1, -1, 1};
  int value = static_cast<int>(drawn % 11) - 5;
  int second = static_cast<int>(is_complex(type) ? drawn >> 8 & 7 : drawn >> 16 & 7);
  if (op == Op::prod) {
    value = few[drawn % 8];
    if (is_complex(type)) value = (drawn >> 8) % 16 == 0 ? 2 : 1;
    if (is_complex(type)) second = value == 2 ? 1 : 0;
  }
  write_element(type, value, second, to);
}

std::size_t sum(const std::vector<std::size_t>& counts) {
  std::size_t total = 0;
  for (const std::size_t count : counts) total += count;
  return total;
}

/// From the beginning of the first block to the end of the last.
std::size_t span(const std::vector<std::size_t>& counts, std::size_t gap) {
  return sum(counts) + (counts.empty() ? 0 : (counts.size() - 1) * gap);
}

// Blocks to reduce lie side by side.
std::size_t gap_of(const ProgramCall& call) {
  return reduces(call.operation) ? 0 : call.gap;
}

/// What `rank` sends to each, and gets from each, in an alltoall.
std::vector<std::size_t> row_of(const ProgramCall& call, int ranks, int rank) {
  const auto n = static_cast<std::size_t>(ranks);
  const auto first = call.counts.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rank) * n);
  return std::vector<std::size_t>(first, first + static_cast<std::ptrdiff_t>(n));
}
std::vector<std::size_t> column_of(const ProgramCall& call, int ranks, int rank) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::size_t> column;
  for (std::size_t from = 0; from < n; ++from)
    column.push_back(call.counts[from * n + static_cast<std::size_t>(rank)]);
  return column;
}

bool exact_in_any_order(Type type, Op op) {
  const bool floating = type == Type::float32 || type == Type::float64 || is_complex(type) ||
                        type == Type::float16 || type == Type::bfloat16;
  return op != Op::minloc && op != Op::maxloc && !(floating && (op == Op::sum || op == Op::prod));
}

}  // namespace

void write_element(Type type, int value, int second, unsigned char* to) {
  std::memset(to, 0, bytes_of(type));
  switch (type) {
    case Type::int8:
    case Type::uint8:
      return put<std::uint8_t>(to, value);
    case Type::bool8:
      return put<std::uint8_t>(to, value & 1);
    case Type::int16:
    case Type::uint16:
      return put<std::uint16_t>(to, value);
    case Type::int32:
    case Type::uint32:
      return put<std::uint32_t>(to, value);
    case Type::int64:
    case Type::uint64:
      return put<std::uint64_t>(to, value);
    case Type::float32:
      return put<float>(to, value);
    case Type::float64:
      return put<double>(to, value);
    case Type::complex64:
      put<float>(to, value);
      return put<float>(to + 4, second);
    case Type::complex128:
      put<double>(to, value);
      return put<double>(to + 8, second);
    case Type::float_int:
      put<float>(to, value);
      return put<std::int32_t>(to + 4, second);
    case Type::double_int:
      put<double>(to, value);
      return put<std::int32_t>(to + 8, second);
    case Type::long_int:
      put<std::int64_t>(to, value);
      return put<std::int32_t>(to + 8, second);
    case Type::two_int:
      put<std::int32_t>(to, value);
      return put<std::int32_t>(to + 4, second);
    case Type::short_int:
      put<std::int16_t>(to, value);
      return put<std::int32_t>(to + 4, second);
    case Type::float16:
      return put_half(to, value, 13, 112u << 23);
    case Type::bfloat16:
      return put_half(to, value, 16, 0);
  }
}

std::vector<std::size_t> equal_counts(Operation operation, int ranks, std::size_t count) {
  const auto n = static_cast<std::size_t>(ranks);
  return std::vector<std::size_t>(exchanges_pairs(operation) ? n * n : n, count);
}

std::vector<std::size_t> block_places(const std::vector<std::size_t>& counts, std::size_t gap) {
  std::vector<std::size_t> at;
  std::size_t next = 0;
  for (const std::size_t count : counts) {
    at.push_back(next);
    next += count + gap;
  }
  return at;
}

Operator Program::operator_of(const ProgramCall& call) const {
  return reduces(call.operation) ? find_operator(call.type, call.op) : Operator();
}

std::string Program::describe(const ProgramCall& call) const {
  std::string text = to_string(call.operation);
  text += " by " + call.algorithm;
  if (reduces(call.operation))
    text += std::string(" of ") + to_string(call.type) + " " + to_string(call.op) +
            (call.exclusive ? " exclusive" : "");
  if (call.counts.empty())
    text += ", count " + std::to_string(call.count);
  else {
    text += ", counts";
    for (const std::size_t count : call.counts) text += " " + std::to_string(count);
    text += ", gap " + std::to_string(call.gap);
  }
  text += ", root " + std::to_string(call.root);
  if (call.in_place) text += ", in place";
  text += ", send " + std::to_string(call.send) + " from byte " + std::to_string(call.send_at) +
          ", receive " + std::to_string(call.receive) + " from byte " + std::to_string(call.receive_at);
  if (call.fill != 0) text += ", filled";
  return text;
}

namespace {

// From byte `at` of a buffer to the end of the last block, where a rank has such a part of a call.
std::size_t bytes_of_part(const ProgramCall& call, Part part, bool sends, int rank, int ranks) {
  const int blocks = blocks_of_part(part, rank == call.root, ranks);
  const std::size_t element = reduces(call.operation) ? bytes_of(call.type) : 1;
  const bool all = part == Part::blocks || part == Part::root_blocks;
  if (call.counts.empty() || blocks == 0) return static_cast<std::size_t>(blocks) * call.count * element;
  if (!all) return call.counts[static_cast<std::size_t>(rank)] * element;
  if (!exchanges_pairs(call.operation)) return span(call.counts, gap_of(call)) * element;
  return span(sends ? row_of(call, ranks, rank) : column_of(call, ranks, rank), call.gap);
}

// Where the rank's own block is among those of all.
std::size_t own_place(const ProgramCall& call, int rank) {
  const auto r = static_cast<std::size_t>(rank);
  return call.counts.empty() ? r * call.count : block_places(call.counts, call.gap)[r];
}

// Whether the call takes a block of each rank together, in rank order.
bool gathers(const ProgramCall& call) {
  const OperationRow& row = row_of(call.operation);
  return row.sends == Part::block && (row.receives == Part::blocks || row.receives == Part::root_blocks);
}

// Whether the rank has one buffer only: everywhere, or at the root.
bool in_place_at(const ProgramCall& call, int rank) {
  return call.in_place && (!row_of(call.operation).rooted || rank == call.root);
}

// Where the data of a rank in place is: where its result is, except for what a root scatters.
bool stays_in_send(const ProgramCall& call) {
  return row_of(call.operation).sends == Part::root_blocks;
}

}  // namespace

std::size_t Program::send_bytes(const ProgramCall& call, int rank) const {
  const OperationRow& row = row_of(call.operation);
  if (row.receives == Part::others_block || (in_place_at(call, rank) && !stays_in_send(call))) return 0;
  return bytes_of_part(call, row.sends, true, rank, ranks);
}

std::size_t Program::receive_bytes(const ProgramCall& call, int rank) const {
  const OperationRow& row = row_of(call.operation);
  const bool message = row.receives == Part::others_block;
  const std::size_t result = bytes_of_part(call, message ? Part::block : row.receives, false, rank, ranks);
  if (!in_place_at(call, rank)) return result;
  return stays_in_send(call) ? 0 : std::max(result, bytes_of_part(call, row.sends, true, rank, ranks));
}

Contribution Program::contribution(const ProgramCall& call, int rank) const {
  const OperationRow& row = row_of(call.operation);
  const Contribution sent{call.send, call.send_at, send_bytes(call, rank)};
  const Contribution received{call.receive, call.receive_at, receive_bytes(call, rank)};
  if (row.receives == Part::others_block)
    return rank == call.root ? received : Contribution{call.receive, call.receive_at, 0};
  if (!in_place_at(call, rank) || stays_in_send(call)) return sent;
  if (!gathers(call)) return received;
  return {call.receive, call.receive_at + own_place(call, rank),
          bytes_of_part(call, row.sends, true, rank, ranks)};
}

void Program::filling(const ProgramCall& call, int rank, unsigned char* into) const {
  const std::size_t bytes = contribution(call, rank).bytes;
  const std::uint64_t drawn = mixed(seed, call.fill, static_cast<std::uint64_t>(rank));
  if (!reduces(call.operation) || exact_in_any_order(call.type, call.op)) {
    draw_bytes(drawn, into, bytes);
    return;
  }
  const std::size_t size = bytes_of(call.type);
  for (std::size_t at = 0; at < bytes; at += size)
    draw_element(mixed(drawn + at), call.type, call.op, into + at);
}

std::vector<unsigned char> Program::filling(const ProgramCall& call, int rank) const {
  std::vector<unsigned char> bytes(contribution(call, rank).bytes);
  filling(call, rank, bytes.data());
  return bytes;
}

CallFacts Program::facts(const ProgramCall& call) const {
  CallFacts facts;
  facts.operation = call.operation;
  facts.exclusive = call.exclusive;
  facts.bytes = call.count;
  if (reduces(call.operation)) {
    const Operator op = operator_of(call);
    facts.bytes = call.count * op.element_bytes;
    facts.commutative = op.commutative;
    facts.associative = op.associative;
  }
  if (call.counts.empty()) return facts;
  facts.vector = true;
  facts.known = row_of(call.operation).counts_known;
  facts.bytes = 0;
  if (facts.known)
    facts.bytes = sum(call.counts) * (reduces(call.operation) ? bytes_of(call.type) : 1) /
                  static_cast<std::size_t>(ranks);
  return facts;
}

void Program::check() const {
  if (ranks < 1) throw ArgumentError("ranks", std::to_string(ranks), "1 or more");
  const auto n = static_cast<std::size_t>(ranks);
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const ProgramCall& call = calls[c];
    const std::string where = "calls[" + std::to_string(c) + "].";
    const auto refuse = [&](const char* argument, const std::string& got, const std::string& allowed) {
      throw ArgumentError(where + argument, got, allowed);
    };
    if (call.root < 0 || call.root >= ranks)
      refuse("root", std::to_string(call.root), "0.." + std::to_string(ranks - 1));
    if (!call.delays.empty() && call.delays.size() != n)
      refuse("delays", std::to_string(call.delays.size()), "none, or one for each rank");
    if (!moves_data(call.operation)) continue;
    family(call.operation).parse(call.algorithm);
    if (reduces(call.operation)) {
      find_operator(call.type, call.op);
      if (call.fill == 0 && !exact_in_any_order(call.type, call.op))
        refuse("fill", "none", "a seed, where results of drawn bytes would depend on the order");
    }
    if (call.in_place && row_of(call.operation).receives == Part::others_block)
      refuse("in_place", "a broadcast", "an operation with a send and a receive buffer");
    if (!call.counts.empty()) {
      const bool pairs = exchanges_pairs(call.operation);
      if (row_of(call.operation).vector_name == nullptr)
        refuse("counts", "some", "none: this operation has no vector version");
      if (call.counts.size() != (pairs ? n * n : n))
        refuse("counts", std::to_string(call.counts.size()), std::to_string(pairs ? n * n : n));
      if (pairs && call.in_place)
        for (std::size_t a = 0; a < n; ++a)
          for (std::size_t b = 0; b < n; ++b)
            if (call.counts[a * n + b] != call.counts[b * n + a])
              refuse("counts", "different ones for the two ways", "equal ones, in place");
    }
    const auto inside = [&](const char* argument, int buffer, std::size_t at, std::size_t bytes) {
      if (bytes == 0) return;
      if (buffer < 0 || static_cast<std::size_t>(buffer) >= buffers.size())
        refuse(argument, std::to_string(buffer), "a buffer of the program");
      const std::size_t size = buffers[static_cast<std::size_t>(buffer)];
      if (at > size || bytes > size - at)
        refuse(argument, "bytes " + std::to_string(at) + " to " + std::to_string(at + bytes),
               "bytes 0 to " + std::to_string(size) + " of buffer " + std::to_string(buffer));
    };
    for (int r = 0; r < ranks; ++r) {
      const std::size_t sent = send_bytes(call, r);
      const std::size_t received = receive_bytes(call, r);
      inside("send", call.send, call.send_at, sent);
      inside("receive", call.receive, call.receive_at, received);
      if (call.send == call.receive && sent != 0 && received != 0 &&
          call.send_at < call.receive_at + received && call.receive_at < call.send_at + sent)
        refuse("receive", "memory that overlaps with send", "separate ranges, or in place");
    }
  }
}

std::vector<Buffers> Program::initial() const {
  std::vector<Buffers> all(static_cast<std::size_t>(ranks));
  for (std::size_t r = 0; r < all.size(); ++r)
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      all[r].emplace_back(buffers[b]);
      draw_bytes(mixed(seed, r, b + 1), all[r].back().data(), buffers[b]);
    }
  return all;
}

std::vector<OutcomePart> outcome_of(const ProgramCall& call, int rank, int ranks) {
  const OperationRow& row = row_of(call.operation);
  const auto n = static_cast<std::size_t>(ranks);
  const auto own = static_cast<std::size_t>(rank);
  const bool vector = !call.counts.empty();
  const bool is_root = rank == call.root;
  const std::size_t element = row.reduces ? bytes_of(call.type) : 1;
  const std::vector<std::size_t> counts = vector ? call.counts : std::vector<std::size_t>(n, call.count);
  const std::vector<std::size_t> places = block_places(counts, vector ? gap_of(call) : 0);
  // Every rank receives a broadcast's message.
  const bool here = row.receives == Part::others_block || blocks_of_part(row.receives, is_root, ranks) != 0;
  if (!here || (stays_in_send(call) && in_place_at(call, rank))) return {};
  const bool own_of_all = row.sends == Part::blocks || row.sends == Part::root_blocks;
  if (row.receives == Part::blocks || row.receives == Part::root_blocks) {
    // A block from each rank: all that it has, or the one that it has for this rank.
    std::vector<OutcomePart> parts;
    for (int r = 0; r < ranks; ++r) {
      const auto from = static_cast<std::size_t>(r);
      if (!own_of_all)
        parts.push_back({places[from], counts[from], r, r, 0});
      else if (vector)
        parts.push_back({block_places(column_of(call, ranks, rank), call.gap)[from], counts[from * n + own],
                         r, r, block_places(row_of(call, ranks, r), call.gap)[own]});
      else
        parts.push_back({places[from], call.count, r, r, places[own]});
    }
    return parts;
  }
  // One block, from all ranks or, in a scan, from those up to this one, or from the root.
  const bool scans = row.exclusive_name != nullptr;
  const int first = row.reduces ? 0 : call.root;
  const int last = !row.reduces ? call.root : !scans ? ranks - 1 : call.exclusive ? rank - 1 : rank;
  if (last < first) return {};
  return {{0, (own_of_all ? counts[own] : call.count) * element, first, last,
           own_of_all ? places[own] * element : 0}};
}

void Program::outcome(const ProgramCall& call, const std::vector<std::vector<unsigned char>>& given,
                      const std::function<unsigned char*(int rank)>& receive) const {
  const Operator op = operator_of(call);
  OutcomePart
      // `result` holds this much: what the next rank gets is often the same, or the sum of one rank more
      done;
  std::vector<unsigned char> result;
  for (int rank = 0; rank < ranks; ++rank)
    for (const OutcomePart& part : outcome_of(call, rank, ranks)) {
      if (part.bytes == 0) continue;
      const auto of = [&](int r) { return given[static_cast<std::size_t>(r)].data() + part.from; };
      if (result.empty() || part.first != done.first || part.from != done.from || part.bytes != done.bytes ||
          part.last < done.last) {
        result.assign(of(part.first), of(part.first) + part.bytes);
        done.last = part.first;
      }
      for (int r = done.last + 1; r <= part.last; ++r)
        op.kernel(op.context, result.data(), result.data(), of(r), part.bytes / op.element_bytes);
      done = part;
      std::memcpy(receive(rank) + part.at, result.data(), part.bytes);
    }
}

std::vector<Buffers> Program::expected() const {
  std::vector<Buffers> all = initial();
  for (const ProgramCall& call : calls) {
    if (!moves_data(call.operation)) continue;
    std::vector<std::vector<unsigned char>> given(all.size());  // what each rank contributes
    for (std::size_t r = 0; r < all.size(); ++r) {
      const Contribution part = contribution(call, static_cast<int>(r));
      if (part.bytes == 0) continue;
      unsigned char* const place = all[r][static_cast<std::size_t>(part.buffer)].data() + part.at;
      if (call.fill != 0) filling(call, static_cast<int>(r), place);
      given[r].assign(place, place + part.bytes);
    }
    outcome(call, given, [&](int rank) {
      return all[static_cast<std::size_t>(rank)][static_cast<std::size_t>(call.receive)].data() +
             call.receive_at;
    });
  }
  return all;
}

namespace {

std::size_t up(std::size_t bytes) {
  return (bytes + 127) / 128 * 128;
}

unsigned char guard_byte(int rank, std::size_t at) {
  return static_cast<unsigned char>(0xa5u ^ (static_cast<unsigned>(rank) << 1) ^ (at & 1));
}

}  // namespace

constexpr std::size_t ProgramLayout::guard;

ProgramLayout::ProgramLayout(const Program& program) {
  std::size_t next = guard;
  for (const std::size_t bytes : program.buffers) {
    at_.push_back(next);
    next = up(next + bytes) + guard;
  }
  scratch_ = next;
  std::size_t most = 0;
  for (const ProgramCall& call : program.calls)
    if (exchanges_pairs(call.operation) && call.in_place)
      for (int r = 0; r < program.ranks; ++r) most = std::max(most, program.receive_bytes(call, r));
  bytes_ = next + up(most);
}

// A guard zone ends where a buffer begins and begins where it ends, unaligned as that may be.
void ProgramLayout::prepare(const Program& program, int rank, unsigned char* memory) const {
  for (std::size_t i = 0; i < scratch_; ++i) memory[i] = guard_byte(rank, i);
  for (std::size_t b = 0; b < at_.size(); ++b)
    draw_bytes(mixed(program.seed, static_cast<std::uint64_t>(rank), b + 1), memory + at_[b],
               program.buffers[b]);
}

Buffers ProgramLayout::take(const Program& program, int rank, const unsigned char* memory) const {
  Buffers found;
  std::size_t from = 0;
  for (std::size_t b = 0; b <= at_.size(); ++b) {
    const std::size_t to = b < at_.size() ? at_[b] : scratch_;
    for (std::size_t i = from; i < to; ++i) {
      if (memory[i] == guard_byte(rank, i)) continue;
      const bool behind = b > 0 && i - from < guard;
      throw Error(
          "program: rank " + std::to_string(rank) + " wrote outside buffer " +
          std::to_string(behind ? b - 1 : b) + ": the byte " +
          (behind ? std::to_string(i - from) + " past its end" : std::to_string(to - i) + " before it"));
    }
    if (b == at_.size()) break;
    from = at_[b] + program.buffers[b];
    found.emplace_back(memory + at_[b], memory + from);
  }
  return found;
}

Call Program::bind(const ProgramCall& made, int rank, Data send, Data receive, OwnBlocks* blocks,
                   OwnBlocks* send_blocks) const {
  const OperationRow& row = row_of(made.operation);
  const bool root = rank == made.root;
  const bool pairs = exchanges_pairs(made.operation);
  const bool vector = !made.counts.empty();
  Call call;
  if (send_bytes(made, rank) != 0) call.send = send;
  if (receive_bytes(made, rank) != 0) call.receive = receive;
  call.count = made.count;
  if (row.rooted) call.root = made.root;
  call.exclusive = made.exclusive;
  call.vector = vector;
  call.op = operator_of(made);
  if (in_place_at(made, rank) && !pairs) {
    if (stays_in_send(made))
      call.receive = call.send ? call.send + own_place(made, rank) : Data();
    else if (call.receive)
      call.send = call.receive + (gathers(made) ? own_place(made, rank) : 0);
  }
  if (!vector) return call;
  // Which sides know the blocks: see Call.
  if (pairs) {
    blocks->counts = column_of(made, ranks, rank);
    send_blocks->counts = row_of(made, ranks, rank);
    send_blocks->displacements = block_places(send_blocks->counts, made.gap);
    call.send_blocks = send_blocks->refer();
  } else {
    if (!row.reduces) call.count = made.counts[static_cast<std::size_t>(rank)];
    if (row.rooted && !root) return call;
    blocks->counts = made.counts;
  }
  blocks->displacements = block_places(blocks->counts, gap_of(made));
  call.blocks = blocks->refer();
  return call;
}

void check_same(const std::vector<Buffers>& expected, const std::vector<Buffers>& found) {
  for (std::size_t r = 0; r < expected.size(); ++r)
    for (std::size_t b = 0; b < expected[r].size(); ++b) {
      const auto& right = expected[r][b];
      const auto& got = found.at(r).at(b);
      const auto at = std::mismatch(right.begin(), right.end(), got.begin()).first;
      if (at == right.end()) continue;
      const auto byte = static_cast<std::size_t>(at - right.begin());
      throw Error("program: rank " + std::to_string(r) + ", buffer " + std::to_string(b) + ", byte " +
                  std::to_string(byte) + ": " + std::to_string(got[byte]) + " instead of " +
                  std::to_string(*at));
    }
}

}  // namespace phicoll
