#pragma once

// What the tests of allreduce, scan and reduce-scatter share: operators, among them one that does not
// commute, every algorithm with every choice of its parameters, guarded buffers at odd addresses, and random
// sequences of calls without barriers between them.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {
namespace reduction_testing {

using Bytes = std::vector<unsigned char>;

/// Affine maps x -> a x + b over 32-bit integers, composed: exact whatever the bracketing, but not
/// commutative.
inline void compose(void*, void* to, const void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t l[2], r[2];
    std::memcpy(l, static_cast<const unsigned char*>(left) + i * sizeof l, sizeof l);
    std::memcpy(r, static_cast<const unsigned char*>(right) + i * sizeof r, sizeof r);
    const std::uint32_t z[2] = {l[0] * r[0], l[0] * r[1] + l[1]};
    std::memcpy(static_cast<unsigned char*>(to) + i * sizeof z, z, sizeof z);
  }
}
/// Elements of 256 bytes, the largest there are: 32 affine maps.
inline void compose_wide(void* context, void* to, const void* left, const void* right, std::size_t count) {
  compose(context, to, left, right, 32 * count);
}

enum class Kind { int_sum, float_sum, affine, wide };
inline Operator operator_of(Kind kind) {
  switch (kind) {
    case Kind::int_sum:
      return find_operator(Type::int32, Op::sum);
    case Kind::float_sum:
      return find_operator(Type::float32, Op::sum);
    case Kind::affine:
      return user_operator(8, false, compose, nullptr);
    case Kind::wide:
      return user_operator(256, false, compose_wide, nullptr);
  }
  return Operator();
}

/// `count` elements of a rank. Floats of very different sizes, so that every other bracketing shows.
inline Bytes input(Kind kind, int rank, std::size_t count, std::uint64_t salt) {
  Bytes bytes(count * operator_of(kind).element_bytes);
  Random random(salt * 1009 + static_cast<std::uint64_t>(rank) + 1);
  for (std::size_t at = 0; at < bytes.size(); at += 4) {
    std::uint32_t word = static_cast<std::uint32_t>(random.below(std::uint64_t{1} << 32));
    if (kind == Kind::float_sum) {
      const float value =
          std::ldexp(1.0f + static_cast<float>(word % 1000003) / 1000003.0f, static_cast<int>(word % 17) - 8);
      std::memcpy(&word, &value, 4);
    } else if (kind != Kind::int_sum) {
      word |= 1u;
    }
    std::memcpy(bytes.data() + at, &word, 4);
  }
  return bytes;
}

/// The operands of ranks first..end-1 combined in rank order; nothing where there is none.
inline Bytes combined(Kind kind, int first, int end, std::size_t count, std::uint64_t salt) {
  const Operator op = operator_of(kind);
  if (first >= end) return Bytes();
  Bytes result = input(kind, first, count, salt);
  for (int r = first + 1; r < end; ++r) {
    const Bytes right = input(kind, r, count, salt);
    if (count != 0) op.kernel(op.context, result.data(), result.data(), right.data(), count);
  }
  return result;
}

/// Integers and affine maps must be equal; of floats the last bits may differ.
inline bool equivalent(Kind kind, const unsigned char* seen, const Bytes& wanted) {
  if (kind != Kind::float_sum) return wanted.empty() || std::memcmp(seen, wanted.data(), wanted.size()) == 0;
  for (std::size_t at = 0; at < wanted.size(); at += 4) {
    float a, b;
    std::memcpy(&a, seen + at, 4);
    std::memcpy(&b, wanted.data() + at, 4);
    if (!(std::fabs(a - b) <= 1e-4f * std::fabs(b))) return false;
  }
  return true;
}

/// A buffer at an odd address between zones that nobody may write, on the heap of the process or, where peers
/// reach it directly, on that of the group.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes, Communicator* group = nullptr) : bytes_(bytes), group_(group) {
    if (group != nullptr)
      memory_ = static_cast<unsigned char*>(group->allocate(bytes + 2 * zone));
    else
      own_.resize(bytes + 2 * zone);
    if (group == nullptr) memory_ = own_.data();
    for (std::size_t i = 0; i < bytes + 2 * zone; ++i)
      memory_[i] = i < zone || i >= zone + bytes ? guard : static_cast<unsigned char>(0xa5);
  }
  ~Guarded() {
    if (group_ != nullptr) group_->release(memory_);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  unsigned char* data() { return memory_ + zone; }
  void fill(const Bytes& bytes) {
    if (!bytes.empty()) std::memcpy(data(), bytes.data(), bytes.size());
  }
  bool whole() const {
    for (std::size_t i = 0; i < zone; ++i)
      if (memory_[i] != guard || memory_[zone + bytes_ + i] != guard) return false;
    return true;
  }
  bool holds(const Bytes& bytes) {
    return bytes.empty() || std::memcmp(data(), bytes.data(), bytes.size()) == 0;
  }

 private:
  static constexpr std::size_t zone = 97;
  static constexpr unsigned char guard = 0x5c;
  std::size_t bytes_;
  Communicator* group_;
  Bytes own_;
  unsigned char* memory_;
};

/// Which of a rank's buffers of a call lie in the group's heap: another mixture on each rank.
struct InHeap {
  Communicator* send = nullptr;
  Communicator* receive = nullptr;
  InHeap() = default;
  InHeap(Communicator& comm, std::uint64_t salt) {
    const std::uint64_t draw = (salt * 7 + static_cast<std::uint64_t>(comm.rank()) * 3) % 5;
    if (draw == 0 || draw == 1) send = &comm;
    if (draw == 1 || draw == 2) receive = &comm;
  }
};

inline void require(bool holds, const std::string& what) {
  if (!holds) throw Error("check: " + what);
}

/// Every algorithm with every combination of its choices that it does not refuse; sizes of buffers as they
/// are (0) or the least that they may be.
inline std::vector<AlgorithmSpec> all_specs(Operation operation, bool least_buffers) {
  std::vector<AlgorithmSpec> specs;
  for (const AlgorithmInfo& info : family(operation).algorithms()) {
    std::vector<std::string> texts = {info.name};
    for (const ParameterInfo& parameter : info.parameters) {
      std::vector<std::string> values = parameter.choices;
      const bool size = parameter.name == "buffer" || parameter.name == "cell" || parameter.name == "chunk" ||
                        parameter.name == "part";
      if (size && least_buffers) values = {std::to_string(parameter.least)};
      // Results are compared between ranks.
      if (values.empty() || parameter.name == "bit_identical") continue;
      std::vector<std::string> longer;
      for (const std::string& text : texts)
        for (const std::string& value : values) longer.push_back(text + ":" + parameter.name + "=" + value);
      texts = longer;
    }
    for (const std::string& text : texts) try {
        specs.push_back(family(operation).parse(text));
      } catch (const ArgumentError&) {
        // Choices that do not go together.
      }
  }
  return specs;
}

inline CallFacts facts_of(Operation operation, Kind kind, std::size_t count) {
  const Operator op = operator_of(kind);
  CallFacts facts;
  facts.operation = operation;
  facts.bytes = count * op.element_bytes;
  facts.commutative = op.commutative;
  facts.associative = op.associative;
  return facts;
}
inline bool serves(const AlgorithmSpec& spec, const Shape& shape, const CallFacts& facts) {
  return family(facts.operation).fits(spec, shape, facts);
}

inline GroupOptions options() {
  GroupOptions options;
  options.memory_limit = std::size_t{256} << 20;
  options.timeout_ms = 60000;
  return options;
}

/// Now and then a little late, another time on each rank.
class Delays {
 public:
  explicit Delays(std::uint64_t seed) : random_(seed) {}
  void operator()() {
    const std::uint64_t draw = random_.below(40);
    if (draw == 0) std::this_thread::sleep_for(std::chrono::microseconds(100 + random_.below(400)));
    if (draw < 8) std::this_thread::yield();
  }

 private:
  Random random_;
};

/// A sum over all bytes in their order.
inline std::uint64_t add_to_hash(std::uint64_t hash, const unsigned char* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3ull;
  return hash;
}

constexpr bool sanitized() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return true;
#else
  return false;
#endif
}

}  // namespace reduction_testing
}  // namespace phicoll
