#include "phicoll/collectives/contract/request.hpp"

namespace phicoll {
namespace request_rules {

void refuse_call(const Request& request) {
  throw ArgumentError("request",
                      std::string(to_string(request.operation)) + (request.vector ? " with counts" : "") +
                          (request.exclusive ? " without the rank's own elements" : ""),
                      "a call that there is");
}

void refuse_elements(std::size_t count, const Operator* op) {
  if (op->kernel == nullptr || op->element_bytes == 0 || op->element_bytes > max_element_bytes)
    throw ArgumentError("op", "an operator on elements of " + std::to_string(op->element_bytes) + " bytes",
                        "a kernel and elements of 1.." + std::to_string(max_element_bytes) + " bytes");
  throw ArgumentError("count", std::to_string(count), "what fits into memory");
}

void refuse_blocks(std::size_t bytes) {
  throw ArgumentError("bytes", std::to_string(bytes), "blocks that fit into memory together");
}

std::size_t sum_of(const std::size_t* counts, int ranks) {
  std::size_t total = 0;
  for (int r = 0; r < ranks; ++r) {
    if (counts[r] > SIZE_MAX / 2 - total)
      throw ArgumentError("counts", std::to_string(counts[r]) + " for rank " + std::to_string(r),
                          "counts that fit into memory together");
    total += counts[r];
  }
  return total;
}

std::size_t end_of(const Blocks& blocks, int ranks) {
  std::size_t end = 0;
  for (int r = 0; r < ranks; ++r) {
    const std::size_t count = blocks.counts[r];
    if (count == 0) continue;
    const std::size_t at = blocks.displacements[r];
    if (at > SIZE_MAX / 2 || count > SIZE_MAX / 2 - at) return SIZE_MAX;
    if (at + count > end) end = at + count;
  }
  return end;
}

Extent counted_extent(const Request& r, int rank, int ranks) {
  const OperationRow& row = row_of(r.operation);
  Extent found;
  found.block = r.count;
  if (row.reduces) {
    found.sent = bytes_of(row, r, sum_of(r.send_blocks.counts, ranks));
    found.block = found.own = found.received = r.send_blocks.counts[rank] * r.op->element_bytes;
    return found;
  }
  const bool gives = gives_blocks(row);
  (gives ? found.received : found.sent) = r.count;
  if (!at_root(row, r.root, rank)) return found;
  const Blocks& all = gives ? r.send_blocks : r.receive_blocks;
  found.own = all.counts[rank];
  found.at = all.displacements[rank];
  (gives ? found.sent : found.received) = end_of(all, ranks);
  if (exchanges_pairs(r.operation)) found.sent = r.send != nullptr ? end_of(r.send_blocks, ranks) : 0;
  return found;
}

}  // namespace request_rules

bool overlaps(const Request& r, int rank, int ranks) {
  using namespace request_rules;
  const OperationRow& row = row_of(r.operation);
  const bool root = at_root(row, r.root, rank);
  const Extent extent = extent_of(row, r.vector, r, root, rank, ranks);
  return !in_place(row, r, root, extent) && overlap(r.vector, r, extent);
}

CallFacts facts_of(const Request& request, int ranks) {
  const OperationRow& row = row_of(request.operation);
  const Blocks& counted = row.reduces ? request.send_blocks : request.receive_blocks;
  const bool sums = request.vector && row.counts_known && counted.counts != nullptr;
  const std::size_t count = sums ? request_rules::sum_of(counted.counts, ranks) : request.count;
  const std::size_t bytes = request.op != nullptr ? request_rules::bytes_of(row, request, count) : count;
  return request_rules::facts_with(row, request.vector, request,
                                   sums ? bytes / static_cast<std::size_t>(ranks) : bytes);
}

}  // namespace phicoll
