#pragma once

// The symmetric memory of all PEs in one process's address space, laid out so that one number per PE turns
// the address of a symmetric object into the address of that PE's copy, whether the object lies in the heap
// or in the program's data segment:
//
//   own data D ....... own heap D + X
//   data of PE p at D + gap + p * stride      heap of PE p at D + X + gap + p * stride
//
// X, gap and stride are this process's choice alone: programs loaded at random addresses have others.

#include <cstddef>
#include <string>
#include <vector>

namespace phicoll {
namespace shmem {

/// The program's own writable data (.data and .bss): whole pages, without those that the loader made
/// read-only again.
struct DataSegment {
  unsigned char* at = nullptr;
  std::size_t bytes = 0;
  std::string why_not;  ///< where there is none that can be moved
};
DataSegment find_data_segment();

/// Where one PE's memory lies in the group's file.
struct FilePlaces {
  std::size_t heap;
  std::size_t data;
};

/// The most that shmem_align gives. It costs addresses, no memory.
constexpr std::size_t greatest_alignment = std::size_t{1} << 30;

constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;
/// Whether the heaps are to have huge pages: PHICOLL_SHMEM_HUGE, or else whether Linux allows them for shared
/// memory (/sys/kernel/mm/transparent_hugepage/shmem_enabled).
bool huge_pages_wanted();

class Segments {
 public:
  /// Maps everybody's memory: `heap_bytes` of each PE, `data_bytes` beside, which may be 0. The heap's byte
  /// `aligned` lies at a multiple of greatest_alignment. Throws ResourceError if the address space has no
  /// room.
  Segments(int descriptor, const std::vector<FilePlaces>& places, int me, std::size_t heap_bytes,
           std::size_t aligned, const DataSegment& data, std::size_t data_bytes);
  ~Segments();
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

  unsigned char* heap() const { return heap_; }
  /// For each PE, what to add to an own address.
  const std::vector<std::ptrdiff_t>& deltas() const { return deltas_; }

  /// Collapses a part of this PE's heap, whose pages are taken, into huge pages as far as it has whole ones.
  /// The heap's byte `aligned` lies at a multiple of huge_page in the file too. Where Linux has none, the
  /// pages stay as they are.
  void make_huge(std::size_t offset, std::size_t bytes) const;

  /// Copies the data segment to its place in the group's file and maps that place over it. Only the
  /// executable's own data moves: that of shared libraries, the C library among them, stays. Not while other
  /// threads store there.
  void move_data() const;

 private:
  struct Range {
    unsigned char* at;
    std::size_t bytes;
  };
  bool reserve(std::size_t gap, std::size_t stride, std::size_t pes, std::size_t aligned);
  void map(unsigned char* at, std::size_t bytes, std::size_t place) const;

  int descriptor_;
  DataSegment data_;
  std::size_t heap_bytes_;
  std::size_t data_place_;
  unsigned char* heap_ = nullptr;
  std::vector<Range> reserved_;
  std::vector<std::ptrdiff_t> deltas_;
};

}  // namespace shmem
}  // namespace phicoll
