#include "phicoll/measure/message_buffers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "phicoll/errors.hpp"
#include "phicoll/group/communicator.hpp"
#include "phicoll/group/layout.hpp"

namespace phicoll {
namespace measure {

namespace {

constexpr std::size_t guard = 64;  // bytes on both sides of what is received
constexpr unsigned char guard_byte = 0xa5;
constexpr std::size_t unit_bytes = sizeof(MessageUnit);

}  // namespace

MessageBuffers::MessageBuffers(int rank, int ranks, Communicator* heap)
    : rank_(rank), ranks_(ranks), heap_(heap) {}

MessageBuffers::~MessageBuffers() {
  drop(send_);
  drop(receive_);
}

void MessageBuffers::drop(Part& part) {
  if (part.heap) {
    try {
      heap_->release(part.memory);
    } catch (const Error&) {
      // The group is broken; its heap goes with it.
    }
  } else if (part.memory != nullptr) {
    munmap(part.memory, part.bytes);
  }
  part = Part();
}

void MessageBuffers::take(Part& part, std::size_t bytes, std::size_t offset) {
  // A buffer is kept from one step to the next unless it is much too large, since several sets of ranks are
  // alive at once.
  constexpr std::size_t kept = std::size_t{64} << 20;
  const std::size_t wanted = (bytes + offset + guard + page_bytes - 1) / page_bytes * page_bytes + page_bytes;
  if (wanted > part.bytes || (part.bytes > kept && wanted < part.bytes / 2) || part.heap != work_.heap) {
    drop(part);
    if (work_.heap) {
      part.memory = static_cast<unsigned char*>(heap_->allocate(wanted + page_bytes));
      part.bytes = wanted;
      part.heap = true;
      std::memset(part.memory, 0, wanted + page_bytes);  // so that no page faults fall into timed calls
    }
  }
  if (part.memory == nullptr) {
    void* const memory = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      throw ResourceError("size: no memory for a buffer of " + std::to_string(bytes) + " bytes");
    part.memory = static_cast<unsigned char*>(memory);
    part.bytes = wanted;
  }
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(part.memory) % page_bytes;
  part.at = part.memory + (beyond == 0 ? 0 : page_bytes - beyond) + page_bytes + offset;
}

void MessageBuffers::make_units() {
  // So that the results stay representable, the factors of products are 1 and 2, and halves' sums at most
  // 2^8 or 2^11.
  const Type type = work_.reduces() ? work_.type : Type::uint8;
  const bool half = type == Type::float16 || type == Type::bfloat16;
  const unsigned sum = half ? (type == Type::float16 ? 2048u : 256u) / static_cast<unsigned>(ranks_) : 64u;
  const unsigned most = work_.reduces() && work_.op == Op::prod ? 2 : std::min(std::max(sum, 1u), 64u);
  const std::size_t element = bytes_of(type);
  units_.assign(static_cast<std::size_t>(ranks_), std::vector<MessageUnit>(FreshWrite::count));
  for (int owner = 0; owner < ranks_; ++owner)
    for (unsigned k = 0; k < FreshWrite::count; ++k)
      for (std::size_t at = 0; at < unit_bytes; at += element) {
        const unsigned mixed =
            k + 37u * static_cast<unsigned>(owner) + 5u * static_cast<unsigned>(at / element);
        const int value = static_cast<int>(1 + mixed % most);
        const bool complex = type == Type::complex64 || type == Type::complex128;
        write_element(type, value, complex ? 0 : value / 2,
                      units_[static_cast<std::size_t>(owner)][k].bytes + at);
      }
}

void MessageBuffers::prepare(const Work& work, std::size_t offset) {
  const bool other =
      units_.empty() || work.operation != work_.operation || work.type != work_.type || work.op != work_.op;
  work_ = work;
  if (other) {
    if (work_.reduces()) op_ = find_operator(work_.type, work_.op);
    make_units();
  }
  outcome_ = outcome_of(program_call(work_, ranks_, 0), rank_, ranks_);
  send_bytes_ = static_cast<std::size_t>(send_bytes_of(work_, rank_, ranks_));
  receive_bytes_ = static_cast<std::size_t>(receive_bytes_of(work_, rank_, ranks_));
  take(send_, send_bytes_, offset);
  take(receive_, receive_bytes_, offset);
}

FreshWrite MessageBuffers::fresh_write() const {
  return FreshWrite{send_.at, work_.fresh ? send_bytes_ : 0, units_[static_cast<std::size_t>(rank_)].data()};
}

void MessageBuffers::fill(std::uint64_t salt) {
  expected_of(rank_, 0, send_bytes_, false, salt, send_.at);
  std::memset(receive_.at - guard, guard_byte, receive_bytes_ + 2 * guard);
}

void MessageBuffers::expected_of(int owner, std::size_t from, std::size_t bytes, bool flat,
                                 std::uint64_t salt, unsigned char* to) const {
  const std::vector<MessageUnit>& units = units_[static_cast<std::size_t>(owner)];
  std::size_t done = 0;
  while (done < bytes) {
    const std::size_t at = from + done;
    const std::size_t unit = at / unit_bytes;
    const std::size_t inside = at % unit_bytes;
    const std::size_t part = std::min(unit_bytes - inside, bytes - done);
    const std::uint64_t k = flat ? salt : salt + unit + unit / FreshWrite::count;
    std::memcpy(to + done, units[k % FreshWrite::count].bytes + inside, part);
    done += part;
  }
}

std::string MessageBuffers::check(bool flat, std::uint64_t salt) const {
  alignas(64) unsigned char wanted[page_bytes];
  alignas(64) unsigned char next[page_bytes];
  if (receive_bytes_ == 0) return "";  // the root of a broadcast
  for (const OutcomePart& part : outcome_)
    for (std::size_t done = 0; done < part.bytes; done += page_bytes) {
      const std::size_t bytes = std::min(page_bytes, part.bytes - done);
      const unsigned char* const got = receive_.at + part.at + done;
      expected_of(part.first, part.from + done, bytes, flat, salt, wanted);
      for (int owner = part.first + 1; owner <= part.last; ++owner) {
        expected_of(owner, part.from + done, bytes, flat, salt, next);
        op_.kernel(op_.context, wanted, wanted, next, bytes / op_.element_bytes);
      }
      if (std::memcmp(got, wanted, bytes) == 0) continue;
      std::size_t at = 0;
      while (got[at] == wanted[at]) ++at;
      return "rank " + std::to_string(rank_) + " of " + std::to_string(ranks_) + ": byte " +
             std::to_string(part.at + done + at) + " of the result of " + work_.text() + " is " +
             std::to_string(got[at]) + ", not " + std::to_string(wanted[at]);
    }
  return "";
}

std::string MessageBuffers::check_filled(std::uint64_t salt) const {
  for (std::size_t i = 0; i < guard; ++i)
    if (receive_.at[receive_bytes_ + i] != guard_byte ||
        receive_.at[-1 - static_cast<std::ptrdiff_t>(i)] != guard_byte)
      return "rank " + std::to_string(rank_) + ": " + work_.text() +
             " wrote outside of the receive buffer, within " + std::to_string(guard) + " bytes of it";
  return check(false, salt);
}

std::string MessageBuffers::check_fresh(std::uint64_t call) const {
  return check(true, call);
}

}  // namespace measure
}  // namespace phicoll
