// The symmetric heap. Every function is collective over all PEs and ends with a barrier (free begins with
// one), as the specification says: no PE stores into a block before all have it, or when one has given it
// back.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>

#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/shmem/world.hpp"

namespace phicoll {
namespace shmem {

namespace {

// All PEs get a block at the same offset, or null: the allocators are alike, but pages may be lacking for one
// PE alone.
void* take(std::size_t alignment, std::size_t bytes) {
  World& all = world();
  if (all.checks()) all.check_same("size", bytes);
  if (bytes == 0) return nullptr;
  void* block = nullptr;
  std::string why = "another PE's memory is full";
  try {
    block = all.heap().take(bytes, true, alignment).at;
  } catch (const ResourceError& error) {
    why = error.what();
  }
  std::uint8_t everywhere = block != nullptr ? 1 : 0;
  // Also the barrier.
  all.comm().allreduce(nullptr, &everywhere, 1, find_operator(Type::uint8, Op::min));
  if (everywhere != 0) return block;
  if (block != nullptr) all.heap().give_back(block);
  if (all.checks() && !errors_are_thrown())
    std::fprintf(stderr, "phicoll: PE %d: %zu bytes of the symmetric heap: null is returned: %s\n",
                 all.my_pe(), bytes, why.c_str());
  return nullptr;
}

/// The bytes of a block. Throws ArgumentError for what is none.
std::size_t bytes_at(World& all, const void* pointer) {
  try {
    return all.heap().bytes_at(pointer);
  } catch (const ArgumentError&) {
    throw ArgumentError("ptr", "memory where no block of the symmetric heap begins",
                        "the start of a block that was allocated and is not yet freed");
  }
}

// Before the barrier, so that the PE that is wrong tells it.
std::size_t checked_bytes(World& all, const void* pointer) {
  const std::size_t bytes = bytes_at(all, pointer);
  if (all.checks()) all.check_same("ptr", all.heap_offset(pointer));
  return bytes;
}

void give_back(void* pointer) {
  World& all = world();
  if (pointer == nullptr) {
    if (all.checks()) all.check_same("ptr", UINT64_MAX);
    return;
  }
  checked_bytes(all, pointer);
  all.comm().barrier();
  all.heap().give_back(pointer);
}

void* change(void* pointer, std::size_t bytes) {
  if (pointer == nullptr) return take(1, bytes);
  if (bytes == 0) {
    give_back(pointer);
    return nullptr;
  }
  World& all = world();
  const std::size_t before = checked_bytes(all, pointer);
  // As all PEs see alike.
  if (bytes <= before) {
    if (all.checks()) all.check_same("size", bytes);
    all.comm().barrier();
    return pointer;
  }
  void* const block = take(1, bytes);
  if (block == nullptr) return nullptr;
  phicoll_shmem_copy(block, pointer, before);
  give_back(pointer);
  return block;
}

}  // namespace

}  // namespace shmem
}  // namespace phicoll

using namespace phicoll::shmem;

PHICOLL_SHMEM_EXPORT(void*, malloc, (size_t size)) {
  return guarded("malloc", [&] { return take(1, size); });
}
// Hints have no effect: every block is on lines of its own, and atomics are the processor's.
PHICOLL_SHMEM_EXPORT(void*, malloc_with_hints, (size_t size, long)) {
  return guarded("malloc_with_hints", [&] { return take(1, size); });
}
PHICOLL_SHMEM_EXPORT(void*, calloc, (size_t count, size_t size)) {
  return guarded("calloc", [&]() -> void* {
    if (size != 0 && count > std::numeric_limits<size_t>::max() / size) return nullptr;
    void* const block = take(1, count * size);
    if (block == nullptr) return nullptr;
    std::memset(block, 0, count * size);
    world().comm().barrier();
    return block;
  });
}
PHICOLL_SHMEM_EXPORT(void*, align, (size_t alignment, size_t size)) {
  return guarded("align", [&]() -> void* {
    const bool power = alignment != 0 && (alignment & (alignment - 1)) == 0;
    return power && alignment <= greatest_alignment ? take(alignment, size) : nullptr;
  });
}
PHICOLL_SHMEM_EXPORT(void*, realloc, (void* ptr, size_t size)) {
  return guarded("realloc", [&] { return change(ptr, size); });
}
PHICOLL_SHMEM_EXPORT(void, free, (void* ptr)) {
  guarded("free", [&] { give_back(ptr); });
}

// Deprecated names.
extern "C" {
void* shmalloc(size_t size) {
  return shmem_malloc(size);
}
void* shmemalign(size_t alignment, size_t size) {
  return shmem_align(alignment, size);
}
void* shrealloc(void* ptr, size_t size) {
  return shmem_realloc(ptr, size);
}
void shfree(void* ptr) {
  shmem_free(ptr);
}
}
