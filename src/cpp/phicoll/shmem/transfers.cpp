// Transfers and atomics as functions of the library, and the cases that their inlined forms leave to it:
// checked arguments, data segments that only copies between processes reach, strides.

#include <cerrno>
#include <cstring>
#include <string>

#include "phicoll/arch/streaming.hpp"
#include "phicoll/memory/copy_desk.hpp"
#include "phicoll/shmem/world.hpp"

namespace phicoll {
namespace shmem {

namespace {

/// An access to `bytes` at a symmetric address of PE `pe` of the context's team.
struct Access {
  int pe;  // the world's number
  World::Where where;
};

Access check(World& all, shmem_ctx_t ctx, const void* address, std::size_t bytes, int pe) {
  const Team& team = team_of(ctx);
  if (pe < 0 || pe >= team.size()) refuse("pe", std::to_string(pe), "0.." + std::to_string(team.size() - 1));
  const World::Where where = all.where(address, bytes);
  if (where == World::Where::nowhere && bytes != 0)
    refuse("address", std::to_string(bytes) + " bytes that are not symmetric",
           "memory of shmem_malloc, and globals and statics of the program");
  return {team.pes[static_cast<std::size_t>(pe)], where};
}

// Whether loads and stores reach it.
bool shared(const World& all, const Access& access) {
  return access.where != World::Where::data || all.data_is_shared();
}

void* moved(const World& all, const void* address, int pe) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) +
                                 static_cast<std::uintptr_t>(all.delta(pe)));
}

/// Between `own` and the data segment of another PE, if it is not shared.
void copy_data(World& all, const Access& access, void* own, std::uintptr_t remote, std::size_t bytes,
               bool write) {
  Control& control = all.comm().control();
  const int error = copy_between_processes(control, access.pe, own, remote, bytes, write,
                                           [&] { control.check_broken(all.my_pe()); });
  if (error != 0)
    end_with("the data segment of PE " + std::to_string(access.pe) +
             " could not be reached: " + std::strerror(error));
}

/// Blocks with strides between them, from shared or private memory to the other.
void copy_strided(unsigned char* to, const unsigned char* from, std::ptrdiff_t to_step,
                  std::ptrdiff_t from_step, std::size_t block, std::size_t blocks) {
  for (; blocks != 0; --blocks, to += to_step, from += from_step) {
    switch (block) {  // the usual elements, by one load and store
      case 1:
        *to = *from;
        break;
      case 2:
        std::memcpy(to, from, 2);
        break;
      case 4:
        std::memcpy(to, from, 4);
        break;
      case 8:
        std::memcpy(to, from, 8);
        break;
      default:
        phicoll_shmem_copy(to, from, block);
    }
  }
}

struct Strides {
  std::ptrdiff_t dest, source;  // bytes between blocks
  std::size_t block, blocks;
};

Strides strides(std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t element, std::size_t bsize,
                std::size_t nblocks) {
  const auto bytes = static_cast<std::ptrdiff_t>(element);
  return {dst * bytes, sst * bytes, bsize * element, nblocks};
}

}  // namespace

}  // namespace shmem
}  // namespace phicoll

using namespace phicoll::shmem;

extern "C" {

void phicoll_shmem_refuse_sig_op(int sig_op) {
  refuse("sig_op", std::to_string(sig_op), "SHMEM_SIGNAL_SET and SHMEM_SIGNAL_ADD");
}

void phicoll_shmem_check_pes(shmem_ctx_t ctx, const int* pes, size_t npes) {
  const int size = team_of(ctx).size();
  for (size_t i = 0; i < npes; ++i)
    if (pes[i] < 0 || pes[i] >= size)
      refuse("target_pes", std::to_string(pes[i]), "0.." + std::to_string(size - 1));
}

/// For atomics, signals and locks.
void* phicoll_shmem_slow_at(shmem_ctx_t ctx, const void* address, size_t bytes, int pe) {
  World& all = world();
  const Access access = check(all, ctx, address, bytes, pe);
  if (all.checks() && bytes != 0 && reinterpret_cast<std::uintptr_t>(address) % bytes != 0)
    refuse("address", "one that is not a multiple of " + std::to_string(bytes),
           "an aligned object, for atomics");
  if (!shared(all, access))
    end_with(
        "atomics and signals on globals are not possible here, as the data segment is not shared; allowed: "
        "memory of "
        "shmem_malloc");
  return moved(all, address, access.pe);
}

void phicoll_shmem_slow_copy(void* dest, const void* source, size_t bytes) {
  phicoll::arch::copy_beside_string(static_cast<unsigned char*>(dest),
                                    static_cast<const unsigned char*>(source), bytes);
}

void phicoll_shmem_slow_put(shmem_ctx_t ctx, void* dest, const void* source, size_t bytes, int pe) {
  World& all = world();
  const Access access = check(all, ctx, dest, bytes, pe);
  if (bytes == 0) return;
  if (shared(all, access))
    phicoll_shmem_copy(moved(all, dest, access.pe), source, bytes);
  else
    copy_data(all, access, const_cast<void*>(source), all.data_address(dest, access.pe), bytes, true);
}

void phicoll_shmem_slow_get(shmem_ctx_t ctx, void* dest, const void* source, size_t bytes, int pe) {
  World& all = world();
  const Access access = check(all, ctx, source, bytes, pe);
  if (bytes == 0) return;
  if (shared(all, access))
    phicoll_shmem_copy(dest, moved(all, source, access.pe), bytes);
  else
    copy_data(all, access, dest, all.data_address(source, access.pe), bytes, false);
}

void phicoll_shmem_strided_put(shmem_ctx_t ctx, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst,
                               size_t element, size_t bsize, size_t nblocks, int pe) {
  const Strides all = strides(dst, sst, element, bsize, nblocks);
  const auto* from = static_cast<const unsigned char*>(source);
  auto* to = static_cast<unsigned char*>(dest);
  if (ctx != SHMEM_CTX_INVALID && ctx->delta != nullptr) {
    copy_strided(static_cast<unsigned char*>(phicoll_shmem_at(ctx, to, 0, pe)), from, all.dest, all.source,
                 all.block, all.blocks);
    return;
  }
  for (std::size_t i = 0; i < nblocks; ++i, to += all.dest, from += all.source)
    phicoll_shmem_slow_put(ctx, to, from, all.block, pe);
}

void phicoll_shmem_strided_get(shmem_ctx_t ctx, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst,
                               size_t element, size_t bsize, size_t nblocks, int pe) {
  const Strides all = strides(dst, sst, element, bsize, nblocks);
  const auto* from = static_cast<const unsigned char*>(source);
  auto* to = static_cast<unsigned char*>(dest);
  if (ctx != SHMEM_CTX_INVALID && ctx->delta != nullptr) {
    copy_strided(to, static_cast<const unsigned char*>(phicoll_shmem_at(ctx, from, 0, pe)), all.dest,
                 all.source, all.block, all.blocks);
    return;
  }
  for (std::size_t i = 0; i < nblocks; ++i, to += all.dest, from += all.source)
    phicoll_shmem_slow_get(ctx, to, from, all.block, pe);
}

}  // extern "C"

#define PHICOLL_SHMEM_FUNCTION(result, name, parameters, ...) \
  PHICOLL_SHMEM_EXPORT(result, name, parameters) __VA_ARGS__
#include "phicoll/shmem/amo.h"
#include "phicoll/shmem/rma.h"
