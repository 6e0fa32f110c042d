// Operations on message data: a rank's own ranges and reductions.

#include <algorithm>
#include <cstring>

#include "phicoll/arch/arch.hpp"
#include "phicoll/sim/engine/simulation.hpp"

namespace phicoll {
namespace sim {

bool Simulation::is_alone(const void* word, std::size_t bytes) const {
  std::uint64_t line[arch::line_bytes / 8];
  std::memcpy(line, word, sizeof line);
  std::uint64_t rest = bytes < 8 ? line[0] >> 8 * bytes : 0;
  for (std::size_t i = 1; i < arch::line_bytes / 8; ++i) rest |= line[i];
  return rest == 0;
}

void Simulation::peek(int rank, const void* from, void* into, std::size_t bytes) {
  if (bytes == 0) return;
  Context& c = context(rank);
  settle(c);
  const auto* const first = static_cast<const unsigned char*>(from);
  auto* const to = static_cast<unsigned char*>(into);
  std::memcpy(to, first, bytes);
  for (std::size_t i = 0; i < c.store_count; ++i) {
    const Store& s = store_at(c, i);
    const unsigned char* const place = memory_ + std::size_t{s.line} * arch::line_bytes + s.offset;
    for (std::size_t b = 0; b < s.bytes; ++b)
      if (place + b >= first && place + b < first + bytes) to[place + b - first] = s.data[b];
  }
}

std::uint64_t Simulation::read_value(int rank, const void* from, std::size_t bytes) {
  const auto* const first = static_cast<const unsigned char*>(from);
  std::uint64_t value = 0;
  auto* const to = reinterpret_cast<unsigned char*>(&value);
  for (std::size_t at = 0; at < bytes;) {
    const std::size_t part = std::min<std::size_t>(bytes - at, arch::line_bytes - offset_of(first + at));
    load_bytes(rank, first + at, to + at, part);
    at += part;
  }
  return value;
}

void Simulation::write(int rank, void* to, const void* from, std::size_t bytes) {
  auto* out = static_cast<unsigned char*>(to);
  const auto* in = static_cast<const unsigned char*>(from);
  static const unsigned char nothing[arch::line_bytes] = {};
  if (local_) return local_write(context(rank), out, in, bytes);
  while (bytes != 0) {
    const std::size_t piece = std::min<std::size_t>(bytes, arch::line_bytes - offset_of(out));
    const bool unseen = ghost(out);
    store(rank, out, unseen ? nothing : in, static_cast<unsigned>(piece), StorePolicy::plain);
    out += piece;
    if (!unseen) in += piece;
    bytes -= piece;
  }
}

// Line by line of the result, where elements allow it: both operands are read, each a stream of its own to
// the prefetcher, then the instructions of the arithmetic, then the result is stored.
void Simulation::combine(int rank, const Operator& op, void* to, const void* left, const void* right,
                         std::size_t count) {
  Context& c = context(rank);
  sync(c);
  if (count == 0) return;
  if (local_)
    return local_combine(c, op, static_cast<unsigned char*>(to), static_cast<const unsigned char*>(left),
                         static_cast<const unsigned char*>(right), count);
  const std::size_t size = op.element_bytes;
  const std::size_t most = std::max<std::size_t>(1, arch::line_bytes / size);
  std::vector<unsigned char> operands(2 * most * size), result(most * size);
  auto* out = static_cast<unsigned char*>(to);
  const auto* a = static_cast<const unsigned char*>(left);
  const auto* b = static_cast<const unsigned char*>(right);
  const bool counts_only = ghost(out) || ghost(a) || ghost(b);
  while (count != 0) {
    const std::size_t to_line_end = (arch::line_bytes - offset_of(out)) / size;
    const std::size_t piece = std::min(count, to_line_end == 0 ? 1 : std::min(to_line_end, most));
    const std::size_t bytes = piece * size;
    int lines = 0;
    const auto read = [&](const unsigned char* from, unsigned char* into, int stream) {
      for (std::size_t at = 0; at < bytes; ++lines) {
        const std::size_t part = std::min<std::size_t>(bytes - at, arch::line_bytes - offset_of(from + at));
        read_part(c, from + at, into + at, part, stream);
        at += part;
      }
    };
    read(a, operands.data(), 0);
    read(b, operands.data() + bytes, 1);
    if (!counts_only) op.kernel(op.context, result.data(), operands.data(), operands.data() + bytes, piece);
    sync(c);
    spend(c, machine_.p.store_instructions + lines * machine_.p.combine_instructions, 0);
    for (std::size_t at = 0; at < bytes;) {
      const std::size_t part = std::min<std::size_t>(bytes - at, arch::line_bytes - offset_of(out + at));
      begin_operation(c, OperationKind::store, line_of(out + at));
      push_store(c, line_of(out + at), offset_of(out + at), result.data() + at, static_cast<unsigned>(part),
                 false);
      end_operation(c, Log::none);
      at += part;
    }
    out += bytes;
    a += bytes;
    b += bytes;
    count -= piece;
  }
}

}  // namespace sim
}  // namespace phicoll
