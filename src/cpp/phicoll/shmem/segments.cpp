#include "phicoll/shmem/segments.hpp"

#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>

#include "phicoll/errors.hpp"
#include "phicoll/shmem/settings.hpp"

namespace phicoll {
namespace shmem {

namespace {

std::uintptr_t down(std::uintptr_t at) {
  return at / page * page;
}
std::uintptr_t up(std::uintptr_t at) {
  return down(at + page - 1);
}
std::uintptr_t up_to(std::uintptr_t at, std::size_t multiple) {
  return (at + multiple - 1) / multiple * multiple;
}

unsigned char* reserve_at(unsigned char* wanted, std::size_t bytes) {
  void* const at = mmap(wanted, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<unsigned char*>(at);
}

/// Copies whole pages to memory of zeros. A page of zeros, untouched .bss mostly, stays untouched on both
/// sides. Word by word: AddressSanitizer's memcpy refuses the red zones between a program's globals.
__attribute__((no_sanitize_address)) void copy_pages(unsigned char* to, const unsigned char* from,
                                                     std::size_t bytes) {
  const auto* const source = reinterpret_cast<const std::uintptr_t*>(from);
  auto* const destination = reinterpret_cast<std::uintptr_t*>(to);
  constexpr std::size_t words = page / sizeof *source;
  for (std::size_t first = 0; first < bytes / sizeof *source; first += words) {
    std::uintptr_t any = 0;
    for (std::size_t i = first; i < first + words; ++i) any |= source[i];
    if (any == 0) continue;
    for (std::size_t i = first; i < first + words; ++i) {
      destination[i] = source[i];
      __asm__ volatile("" ::: "memory");  // no memcpy of the compiler's
    }
  }
}

}  // namespace

bool huge_pages_wanted() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  // The choice stands in brackets.
  const bool allowed = text.find('[') != std::string::npos && text.find("[never]") == std::string::npos &&
                       text.find("[deny]") == std::string::npos;
  return setting("PHICOLL_SHMEM_HUGE", allowed);
}

DataSegment find_data_segment() {
  DataSegment found;
  // The program itself comes first.
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        auto& segment = *static_cast<DataSegment*>(result);
        std::uintptr_t read_only = 0;  // the end of what is
        for (int i = 0; i < info->dlpi_phnum; ++i)
          if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
            read_only = down(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz);
        std::uintptr_t begin = 0, end = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
          const std::uintptr_t from = std::max(down(info->dlpi_addr + part.p_vaddr), read_only);
          const std::uintptr_t to = up(info->dlpi_addr + part.p_vaddr + part.p_memsz);
          if (from >= to) continue;
          if (end != 0 && from != end)
            segment.why_not = "the program has several writable segments";
          else if ((part.p_flags & PF_X) != 0)
            segment.why_not = "the program's data is executable";
          if (end == 0) begin = from;
          end = to;
        }
        segment.at = reinterpret_cast<unsigned char*>(begin);
        segment.bytes = end - begin;
        return 1;
      },
      &found);
  if (found.bytes == 0 && found.why_not.empty()) found.why_not = "the program has no writable data";
  return found;
}

Segments::Segments(int descriptor, const std::vector<FilePlaces>& places, int me, std::size_t heap_bytes,
                   std::size_t aligned, const DataSegment& data, std::size_t data_bytes)
    : descriptor_(descriptor),
      data_(data),
      heap_bytes_(heap_bytes),
      data_place_(places[static_cast<std::size_t>(me)].data) {
  data_.bytes = data_bytes;
  const std::size_t stride = up_to(std::max(heap_bytes, data_bytes), huge_page);
  // The gap leaves room for what grows after the data; the C library's heap goes on elsewhere if it must.
  std::size_t gap = std::max(stride, std::size_t{64} << 30);
  while (!reserve(gap, stride, places.size(), aligned)) {
    gap *= 4;
    if (gap > std::size_t{16} << 40)
      throw ResourceError("symmetric memory: this process's address space has no room for " +
                          std::to_string(places.size()) + " times " + std::to_string(stride) + " bytes");
  }
  map(heap_, heap_bytes, places[static_cast<std::size_t>(me)].heap);
  for (std::size_t pe = 0; pe < places.size(); ++pe) {
    const std::size_t delta = pe == static_cast<std::size_t>(me) ? 0 : gap + pe * stride;
    deltas_.push_back(static_cast<std::ptrdiff_t>(delta));
    if (delta == 0) continue;
    map(heap_ + delta, heap_bytes, places[pe].heap);
    if (data_bytes != 0) map(data_.at + delta, data_bytes, places[pe].data);
  }
}

bool Segments::reserve(std::size_t gap, std::size_t stride, std::size_t pes, std::size_t aligned) {
  const std::size_t all = pes * stride;
  const std::size_t bytes = gap + all + greatest_alignment;
  unsigned char* const heaps = reserve_at(nullptr, bytes);
  if (heaps == nullptr) return false;
  unsigned char* const datas = data_.bytes != 0 ? reserve_at(data_.at + gap, all) : data_.at + gap;
  if (datas != data_.at + gap) {
    munmap(heaps, bytes);
    if (datas != nullptr) munmap(datas, all);
    return false;
  }
  if (data_.bytes != 0) reserved_.push_back({datas, all});
  const std::uintptr_t inside = reinterpret_cast<std::uintptr_t>(heaps) + aligned;
  heap_ = heaps + (up_to(inside, greatest_alignment) - inside);
  reserved_.push_back({heaps, bytes});
  return true;
}

void Segments::map(unsigned char* at, std::size_t bytes, std::size_t place) const {
  void* const mapped =
      mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor_, static_cast<off_t>(place));
  if (mapped == MAP_FAILED)
    throw ResourceError("symmetric memory: " + std::to_string(bytes) +
                        " bytes could not be mapped: " + std::strerror(errno));
}

// Their pages were taken by fallocate, which asks no mapping for their size. So they are collapsed now into
// huge ones, which other PEs' mappings of the file then have too. Before Linux 6.1, where that cannot be
// asked for, the kernel may do it later.
void Segments::make_huge(std::size_t offset, std::size_t bytes) const {
  constexpr int collapse = 25;  // MADV_COLLAPSE
  const std::uintptr_t from = up_to(reinterpret_cast<std::uintptr_t>(heap_) + offset, huge_page);
  const std::uintptr_t to =
      (reinterpret_cast<std::uintptr_t>(heap_) + offset + bytes) / huge_page * huge_page;
  if (from >= to) return;
  void* const at = reinterpret_cast<void*>(from);
  madvise(at, to - from, MADV_HUGEPAGE);
  madvise(at, to - from, collapse);
}

void Segments::move_data() const {
  void* const mapped = mmap(nullptr, data_.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_,
                            static_cast<off_t>(data_place_));
  if (mapped == MAP_FAILED)
    throw ResourceError(std::string("symmetric memory: the data segment could not be mapped: ") +
                        std::strerror(errno));
  copy_pages(static_cast<unsigned char*>(mapped), data_.at, data_.bytes);
  map(data_.at, data_.bytes, data_place_);
  munmap(mapped, data_.bytes);
}

Segments::~Segments() {
  for (const Range& range : reserved_) munmap(range.at, range.bytes);
}

}  // namespace shmem
}  // namespace phicoll
