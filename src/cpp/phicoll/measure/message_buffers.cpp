#include "phicoll/measure/message_buffers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <complex>
#include <cstring>

#include "phicoll/errors.hpp"
#include "phicoll/group/communicator.hpp"

namespace phicoll {
namespace measure {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t guard = 64;  // bytes on both sides of what is received
constexpr unsigned char guard_byte = 0xa5;
constexpr std::size_t unit_bytes = sizeof(MessageUnit);

template <class T>
void write_as(unsigned char* to, unsigned value) {
  const T number = static_cast<T>(value);
  std::memcpy(to, &number, sizeof number);
}

// Writes one element of the type that holds a small whole number; a pair gets a small index too.
void write_element(Type type, unsigned value, unsigned char* to) {
  std::memset(to, 0, bytes_of(type));
  switch (type) {
    case Type::int8:
    case Type::uint8:
      return write_as<std::uint8_t>(to, value);
    case Type::bool8:
      return write_as<std::uint8_t>(to, value & 1u);
    case Type::int16:
    case Type::uint16:
      return write_as<std::uint16_t>(to, value);
    case Type::int32:
    case Type::uint32:
      return write_as<std::uint32_t>(to, value);
    case Type::int64:
    case Type::uint64:
      return write_as<std::uint64_t>(to, value);
    case Type::float32:
    case Type::complex64:
      return write_as<float>(to, value);
    case Type::float64:
    case Type::complex128:
      return write_as<double>(to, value);
    case Type::float_int:
      write_as<float>(to, value);
      return write_as<std::int32_t>(to + 4, value / 2);
    case Type::double_int:
      write_as<double>(to, value);
      return write_as<std::int32_t>(to + 8, value / 2);
    case Type::long_int:
      write_as<std::int64_t>(to, value);
      return write_as<std::int32_t>(to + 8, value / 2);
    case Type::two_int:
      write_as<std::int32_t>(to, value);
      return write_as<std::int32_t>(to + 4, value / 2);
    case Type::short_int:
      write_as<std::int16_t>(to, value);
      return write_as<std::int32_t>(to + 4, value / 2);
  }
}

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
  const std::size_t wanted = (bytes + offset + guard + page - 1) / page * page + page;
  if (wanted > part.bytes || (part.bytes > kept && wanted < part.bytes / 2) || part.heap != work_.heap) {
    drop(part);
    if (work_.heap) {
      part.memory = static_cast<unsigned char*>(heap_->allocate(wanted + page));
      part.bytes = wanted;
      part.heap = true;
      std::memset(part.memory, 0, wanted + page);  // so that no page faults fall into timed calls
    }
  }
  if (part.memory == nullptr) {
    void* const memory = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      throw ResourceError("size: no memory for a buffer of " + std::to_string(bytes) + " bytes");
    part.memory = static_cast<unsigned char*>(memory);
    part.bytes = wanted;
  }
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(part.memory) % page;
  part.at = part.memory + (beyond == 0 ? 0 : page - beyond) + page + offset;
}

void MessageBuffers::make_units() {
  // The factors of products are 1 and 2, so that the results stay representable.
  const Type type = work_.reduces() ? work_.type : Type::uint8;
  const unsigned most = work_.reduces() && work_.op == Op::prod ? 2 : 64;
  const std::size_t element = bytes_of(type);
  units_.assign(static_cast<std::size_t>(ranks_), std::vector<MessageUnit>(FreshWrite::count));
  for (int owner = 0; owner < ranks_; ++owner)
    for (unsigned k = 0; k < FreshWrite::count; ++k)
      for (std::size_t at = 0; at < unit_bytes; at += element) {
        const unsigned mixed =
            k + 37u * static_cast<unsigned>(owner) + 5u * static_cast<unsigned>(at / element);
        write_element(type, 1 + mixed % most, units_[static_cast<std::size_t>(owner)][k].bytes + at);
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

// Checks `got` against the block at `from` of what rank `first` sent or, for a reduction, of what the ranks
// `first` to `last` sent, reduced in that order.
std::string MessageBuffers::check_block(const unsigned char* got, std::size_t bytes, int first, int last,
                                        std::size_t from, bool flat, std::uint64_t salt) const {
  alignas(64) unsigned char wanted[page];
  alignas(64) unsigned char next[page];
  for (std::size_t done = 0; done < bytes; done += page) {
    const std::size_t part = std::min(page, bytes - done);
    expected_of(first, from + done, part, flat, salt, wanted);
    for (int owner = first + 1; owner <= last; ++owner) {
      expected_of(owner, from + done, part, flat, salt, next);
      op_.kernel(op_.context, wanted, wanted, next, part / op_.element_bytes);
    }
    if (std::memcmp(got + done, wanted, part) == 0) continue;
    std::size_t at = 0;
    while (got[done + at] == wanted[at]) ++at;
    return "rank " + std::to_string(rank_) + " of " + std::to_string(ranks_) + ": byte " +
           std::to_string(static_cast<std::size_t>(got - receive_.at) + done + at) + " of the result of " +
           work_.text() + " is " + std::to_string(got[done + at]) + ", not " + std::to_string(wanted[at]);
  }
  return "";
}

std::string MessageBuffers::check(bool flat, std::uint64_t salt) const {
  if (receive_bytes_ == 0) return "";
  const auto bytes = static_cast<std::size_t>(work_.bytes);
  const std::size_t own = bytes * static_cast<std::size_t>(rank_);
  const unsigned char* const got = receive_.at;
  const int last = ranks_ - 1;
  switch (work_.operation) {
    case Operation::broadcast:
      return check_block(got, bytes, 0, 0, 0, flat, salt);
    case Operation::scatter:
      return check_block(got, bytes, 0, 0, own, flat, salt);
    case Operation::reduce:
    case Operation::allreduce:
      return check_block(got, bytes, 0, last, 0, flat, salt);
    case Operation::scan:
      return check_block(got, bytes, 0, work_.exclusive ? rank_ - 1 : rank_, 0, flat, salt);
    case Operation::reduce_scatter:
      return check_block(got, bytes, 0, last, own, flat, salt);
    default:
      break;
  }
  for (int r = 0; r < ranks_; ++r) {  // gather, allgather, alltoall
    const std::size_t from = work_.operation == Operation::alltoall ? own : 0;
    const std::string wrong =
        check_block(got + bytes * static_cast<std::size_t>(r), bytes, r, r, from, flat, salt);
    if (!wrong.empty()) return wrong;
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
