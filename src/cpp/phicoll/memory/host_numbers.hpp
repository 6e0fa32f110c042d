#pragma once

// The numbers that fit `auto` and the ways through shared memory to a host: sizes at which one way overtakes
// another, and sizes of pieces. A calibration measures some of them on the host (group/calibration.hpp); a
// tuning table may set any. Integers only, as in line_costs.hpp, and the same on every rank.

#include <cstdint>

#include "phicoll/arch/streaming.hpp"

namespace phicoll {

/// Sizes are bytes of the count argument unless one says otherwise. The defaults were measured with
/// processes on two CPUs of an EPYC with 1 MB of L2 and a shared L3 (docs/collectives.md), and hold where
/// nothing was measured.
struct HostNumbers {
  // Ranks with a CPU each.
  std::int64_t rotate = 24 << 10;       ///< blocks for a long ring (exchanges: of more than two ranks)
  std::int64_t wide = 128 << 10;        ///< blocks for the largest cells (likewise)
  std::int64_t cell = 64 << 10;         ///< bytes of a larger cell
  std::int64_t wide_cell = 256 << 10;   ///< bytes of a largest cell
  std::int64_t ring = 2 << 20;          ///< bytes of a rank's ring of larger cells
  std::int64_t pass_rotate = 64 << 10;  ///< broadcast: a message for cells half as large as larger ones
  std::int64_t pass_wide = 1 << 20;  ///< broadcast: a message for larger cells, in a ring of twice the length
  std::int64_t pair_wide = 8 << 20;  ///< exchanges of two ranks: a block for a long ring of the largest cells
  std::int64_t slice = 1 << 20;      ///< allreduce of two ranks: a message that is combined in slices
  std::int64_t slice_many = 2 << 10;  ///< the same of more
  // Ranks that share CPUs.
  std::int64_t shared_cell = 64 << 10;         ///< bytes of a larger cell
  std::int64_t shared_wide_cell = 256 << 10;   ///< bytes of a largest cell
  std::int64_t shared_pass = 3 << 10;          ///< broadcast: a message too large for the many small cells
  std::int64_t shared_rotate = 32 << 10;       ///< rooted: a message or block for larger cells
  std::int64_t shared_send = 6 << 10;          ///< scatter: a block too large for the many cells of 4 KB
  std::int64_t shared_pieces = 2 << 10;        ///< alltoall: a block for larger cells
  std::int64_t shared_exchange = 16 << 10;     ///< exchanges: a block for the largest cells
  std::int64_t shared_levels = 2 << 10;        ///< allreduce of more than four: one that goes CPU by CPU
  std::int64_t shared_levels_wide = 64 << 10;  ///< and from here on in larger pieces
  std::int64_t shared_reduce = 256;            ///< reduce of more than four: one that goes CPU by CPU
  std::int64_t shared_combine = 8 << 10;       ///< allreduce of up to four: a message for larger cells
  std::int64_t shared_slice = 24 << 10;  ///< allreduce of up to four: a message that is combined in slices
  std::int64_t shared_single =
      2 << 20;  ///< alltoall: blocks copied once, all (of five to eight, four) together
  // All ranks.
  std::int64_t single = 8 << 20;    ///< gather and others: a block or message that is copied once
  std::int64_t direct = 1 << 20;    ///< data that is read where it lies, if all ranks reach it
  std::int64_t streamed = 8 << 20;  ///< a result that is stored past the caches
  std::int64_t far = 75;       ///< percent of a line from memory: what one from a far peer takes (HandOver)
  std::int64_t near_copy = 0;  ///< arch::CopyWay of a piece for a near peer
  std::int64_t far_copy = 2;   ///< the same for a far one
  /// The same for a piece from a peer. By vectors: a string move, which the C library takes for large pieces,
  /// reads ahead into the next piece while a near peer is still writing it, and slows broadcasts.
  std::int64_t take_copy = 3;
  /// The same for 2 to 8 KB (arch::copies_few) within this CPU's caches, and from a peer where a rank only
  /// takes. The string move, which the C library may use, begins slowly, so vectors win there; not in
  /// gathers, nor in exchanges from window starts.
  std::int64_t few_copy = 4;

  std::int64_t near_seen = 0;     ///< 1: near_copy was measured
  std::int64_t far_seen = 0;      ///< the same of far_copy
  std::int64_t sizes_seen = 0;    ///< whose sizes were measured, and in which state: a sum of seen_in()
  std::int64_t numbers_seen = 0;  ///< which numbers were measured: a sum of seen_bit()
  std::int64_t disturbed = 0;     ///< times in a row that measuring was disturbed and dropped what it found

  /// Groups that share sizes.
  enum Sharing : std::int64_t {
    pair = 1,     ///< ranks with a CPU each, measured by two of them
    few = 2,      ///< up to four that share CPUs
    many = 4,     ///< more
    unplaced = 8  ///< more, and nobody knows which of them share a CPU
  };
  static constexpr std::int64_t seen_in(bool far, Sharing whose) { return far ? whose * 16 : whose; }

  /// Where the numbers come from: the defaults (or a table); the defaults until a first large call measures;
  /// measured.
  enum State : std::int32_t { built_in, wanted, measured };
  State state = built_in;
};

/// A number's name, as written in files, and its range.
struct HostNumberField {
  const char* name;
  std::int64_t HostNumbers::*value;
  std::int64_t least;
  std::int64_t most;
};

/// The largest value of a size, 1 TB: a rule that begins there is as good as none.
constexpr std::int64_t most_host_number = std::int64_t{1} << 40;
/// Cells are within the ranges that the algorithms allow.
constexpr std::int64_t least_cell_number = 1 << 10;
constexpr std::int64_t most_cell_number = 1 << 20;
/// A ring within the memory that an algorithm's rings may take.
constexpr std::int64_t most_ring_number = 4 << 20;

constexpr HostNumberField host_number_fields[] = {
    {"rotate", &HostNumbers::rotate, 1, most_host_number},
    {"wide", &HostNumbers::wide, 1, most_host_number},
    {"cell", &HostNumbers::cell, least_cell_number, most_cell_number},
    {"wide-cell", &HostNumbers::wide_cell, least_cell_number, most_cell_number},
    {"ring", &HostNumbers::ring, least_cell_number, most_ring_number},
    {"pass-rotate", &HostNumbers::pass_rotate, 1, most_host_number},
    {"pass-wide", &HostNumbers::pass_wide, 1, most_host_number},
    {"pair-wide", &HostNumbers::pair_wide, 1, most_host_number},
    {"slice", &HostNumbers::slice, 1, most_host_number},
    {"slice-many", &HostNumbers::slice_many, 1, most_host_number},
    {"shared-cell", &HostNumbers::shared_cell, least_cell_number, most_cell_number},
    {"shared-wide-cell", &HostNumbers::shared_wide_cell, least_cell_number, most_cell_number},
    {"shared-pass", &HostNumbers::shared_pass, 1, most_host_number},
    {"shared-rotate", &HostNumbers::shared_rotate, 1, most_host_number},
    {"shared-send", &HostNumbers::shared_send, 1, most_host_number},
    {"shared-pieces", &HostNumbers::shared_pieces, 1, most_host_number},
    {"shared-exchange", &HostNumbers::shared_exchange, 1, most_host_number},
    {"shared-levels", &HostNumbers::shared_levels, 1, most_host_number},
    {"shared-levels-wide", &HostNumbers::shared_levels_wide, 1, most_host_number},
    {"shared-reduce", &HostNumbers::shared_reduce, 1, most_host_number},
    {"shared-combine", &HostNumbers::shared_combine, 1, most_host_number},
    {"shared-slice", &HostNumbers::shared_slice, 1, most_host_number},
    {"shared-single", &HostNumbers::shared_single, 1, most_host_number},
    {"single", &HostNumbers::single, 1, most_host_number},
    {"direct", &HostNumbers::direct, 1, most_host_number},
    {"streamed", &HostNumbers::streamed, 1, most_host_number},
    {"far", &HostNumbers::far, 0, 1000000},
    {"near-copy", &HostNumbers::near_copy, 0, arch::copy_ways - 1},
    {"far-copy", &HostNumbers::far_copy, 0, arch::copy_ways - 1},
    {"take-copy", &HostNumbers::take_copy, 0, arch::copy_ways - 1},
    {"few-copy", &HostNumbers::few_copy, 0, arch::copy_ways - 1},
    {"near-seen", &HostNumbers::near_seen, 0, 1},
    {"far-seen", &HostNumbers::far_seen, 0, 1},
    {"sizes-seen", &HostNumbers::sizes_seen, 0, 255},
    {"numbers-seen", &HostNumbers::numbers_seen, 0, (std::int64_t{1} << 32) - 1},
    {"disturbed", &HostNumbers::disturbed, 0, 1000000}};

/// Whether it only records how others were measured.
constexpr bool is_mark(const HostNumberField& field) {
  return field.value == &HostNumbers::near_seen || field.value == &HostNumbers::far_seen ||
         field.value == &HostNumbers::sizes_seen || field.value == &HostNumbers::numbers_seen ||
         field.value == &HostNumbers::disturbed;
}

/// A number's part of numbers_seen: 2 to the power of its place above.
inline std::int64_t seen_bit(std::int64_t HostNumbers::*number) {
  std::int64_t bit = 1;
  for (const HostNumberField& field : host_number_fields) {
    if (field.value == number) break;
    bit *= 2;
  }
  return bit;
}
static_assert(sizeof host_number_fields / sizeof *host_number_fields < 63, "seen_bit() has a bit for each");

}  // namespace phicoll
