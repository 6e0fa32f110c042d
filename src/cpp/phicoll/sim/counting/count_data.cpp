// Records of message data: for each byte, the rank that wrote it and how many ranks it has crossed.

#include <algorithm>

#include "phicoll/errors.hpp"
#include "phicoll/sim/counting/count_machine.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {

void CountMachine::own(int rank, const unsigned char* from, std::size_t bytes) {
  own_.push_back(OwnRange{rank, static_cast<std::size_t>(from - memory_), bytes});
}

int CountMachine::owner_of(std::size_t byte) const {
  for (const OwnRange& range : own_)
    if (byte >= range.from && byte < range.from + range.bytes) return range.rank;
  return -1;
}

/// At the beginning of a call, bytes in shared memory belong to no rank, bytes in a rank's own memory to it.
void CountMachine::forget_data() {
  if (own_.empty()) return;
  data_.assign(bytes_, Byte{-1, 0});
  for (const OwnRange& range : own_)
    std::fill_n(data_.begin() + static_cast<std::ptrdiff_t>(range.from), range.bytes,
                Byte{static_cast<std::int16_t>(range.rank), 0});
}

std::size_t CountMachine::data_at(const void* place, std::size_t bytes) {
  const auto* const at = static_cast<const unsigned char*>(place);
  PHICOLL_ASSERT(
      EveryBuild,
      at >= memory_ && at <= memory_ + bytes_ && bytes <= bytes_ - static_cast<std::size_t>(at - memory_),
      "an algorithm moves " + std::to_string(bytes) + " bytes outside the " + std::to_string(bytes_) +
          " bytes of its footprint and its ranks' buffers");
  if (data_.empty()) data_.assign(bytes_, Byte{-1, 0});
  return static_cast<std::size_t>(at - memory_);
}

/// `steps`: of each byte, at least what it is already.
void CountMachine::read_data(int rank, std::size_t from, std::size_t bytes,
                             std::vector<std::uint16_t>& steps) {
  counts_.bytes_read += static_cast<std::int64_t>(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    const Byte& byte = data_[from + i];
    const bool crosses = byte.writer >= 0 && byte.writer != rank;
    counts_.bytes_between += crosses;
    steps[i] = std::max(steps[i], static_cast<std::uint16_t>(byte.steps + (crosses ? 1 : 0)));
  }
}

/// Another rank's memory has its owner's data from then on: it has crossed already.
void CountMachine::wrote_data(int rank, std::size_t to, const std::vector<std::uint16_t>& steps) {
  const std::size_t bytes = steps.size();
  counts_.bytes_written += static_cast<std::int64_t>(bytes);
  if (bytes == 0) return;
  const int owner = owner_of(to);
  const bool crosses = owner >= 0 && owner != rank;
  if (crosses) counts_.bytes_between += static_cast<std::int64_t>(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto behind = static_cast<std::uint16_t>(steps[i] + (crosses ? 1 : 0));
    data_[to + i] = Byte{static_cast<std::int16_t>(crosses ? owner : rank), behind};
    counts_.steps = std::max<std::int64_t>(counts_.steps, behind);
  }
}

void CountMachine::moved(int rank, const void* to, const void* from, std::size_t bytes) {
  if (!uses_.empty()) return note_use(rank, to, bytes, false);
  ++counts_.transfers;
  const std::size_t target = data_at(to, bytes);
  const std::size_t source = data_at(from, bytes);
  steps_.assign(bytes, 0);
  read_data(rank, source, bytes, steps_);
  wrote_data(rank, target, steps_);
}

/// Each byte of the result inherits what the same bytes of both operands have crossed.
void CountMachine::combined(int rank, const void* to, const void* left, const void* right, std::size_t bytes,
                            std::size_t elements) {
  if (!uses_.empty()) return note_use(rank, to, bytes, false);
  ++counts_.transfers;
  counts_.combined += static_cast<std::int64_t>(elements);
  const std::size_t target = data_at(to, bytes);
  steps_.assign(bytes, 0);
  read_data(rank, data_at(left, bytes), bytes, steps_);
  read_data(rank, data_at(right, bytes), bytes, steps_);
  wrote_data(rank, target, steps_);
}

}  // namespace phicoll
