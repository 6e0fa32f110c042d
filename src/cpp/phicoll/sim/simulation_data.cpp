// Operations on message data: a rank's own ranges and reductions.

#include <algorithm>
#include <cstring>

#include "phicoll/arch/arch.hpp"
#include "phicoll/sim/simulation.hpp"

namespace phicoll {
namespace sim {

void Simulation::check_bound(int rank, const void* pointer, std::size_t bytes) const {
  const auto* const at = static_cast<const unsigned char*>(pointer);
  if (bytes == 0 ||
      (at >= memory_ && at <= memory_ + bytes_ && bytes <= bytes_ - static_cast<std::size_t>(at - memory_)))
    return;
  throw Error("simulation: rank " + std::to_string(rank) + " uses " + std::to_string(bytes) +
              " bytes that were not bound; allowed: memory of the simulation");
}

// Element by element as the kernel does it, in pieces of at most a line: both operands are read, the result
// is stored. Pieces end where a line of the result ends, where elements allow it.
void Simulation::combine(int rank, const Operator& op, void* to, const void* left, const void* right,
                         std::size_t count) {
  Context& c = context(rank);
  sync(c);
  if (count == 0) return;
  const std::size_t size = op.element_bytes;
  const std::size_t most = std::max<std::size_t>(1, arch::line_bytes / size);
  std::vector<unsigned char> operands(2 * most * size), result(most * size);
  auto* out = static_cast<unsigned char*>(to);
  const auto* a = static_cast<const unsigned char*>(left);
  const auto* b = static_cast<const unsigned char*>(right);
  while (count != 0) {
    const std::size_t to_line_end = (arch::line_bytes - offset_of(out)) / size;
    const std::size_t piece = std::min(count, to_line_end == 0 ? 1 : std::min(to_line_end, most));
    const std::size_t bytes = piece * size;
    const auto read = [&](const unsigned char* from, unsigned char* into) {
      for (std::size_t at = 0; at < bytes;) {
        const std::size_t part = std::min<std::size_t>(bytes - at, arch::line_bytes - offset_of(from + at));
        load_bytes(rank, from + at, into + at, part);
        at += part;
      }
    };
    read(a, operands.data());
    read(b, operands.data() + bytes);
    op.kernel(op.context, result.data(), operands.data(), operands.data() + bytes, piece);
    spend(c, machine_.p.store_instructions, 0);
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
