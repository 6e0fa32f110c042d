#pragma once

// Memory that processes share without a name, so that nothing stays behind, even after SIGKILL.

#include <cstddef>
#include <string>

namespace phicoll {
namespace os {

/// Makes an empty file without a name, with close-on-exec set: by memfd_create, else in /dev/shm, TMPDIR,
/// /tmp or /var/tmp. Returns its descriptor, which is none of the standard streams' numbers, or -1 with errno
/// set. `label` shows in /proc/<pid>/maps.
int unnamed_file(const std::string& label);

/// A mapped piece of shared memory and the descriptor that others reach it by (inherited, or sent over a
/// socket). Zeroed. The pages are taken when they are reserved or first touched.
class SharedMemory {
 public:
  /// Makes `bytes` of it, in an unnamed_file(). ResourceError when more is asked than memory_available(), or
  /// nothing works.
  static SharedMemory create(const std::string& label, std::size_t bytes);

  /// The same as an unlinked file in `directory`.
  static SharedMemory create_in(const std::string& directory, const std::string& label, std::size_t bytes);

  /// Takes over a descriptor made by create() in another process and maps its first `bytes` (0: all).
  /// ArgumentError when it is shorter, ResourceError when it cannot be mapped.
  static SharedMemory from_descriptor(int descriptor, std::size_t bytes);

  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  /// Maps it (already done by the functions above) and returns where; unmap() leaves the descriptor open.
  void* map();
  void unmap();

  /// Closes the descriptor, which has close-on-exec set; the mapping stays.
  void close_descriptor();

  void* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  int descriptor() const { return descriptor_; }
  bool valid() const { return data_ != nullptr; }

  /// Takes the pages of [offset, offset + bytes) now and touches them from the calling thread, so that they
  /// lie on its NUMA node. Call it before anyone writes there. Throws ResourceError, with the bytes asked and
  /// the bytes available, where a later store would have met a full /dev/shm (SIGBUS) or a full container
  /// (SIGKILL).
  void reserve(std::size_t offset, std::size_t bytes);

 private:
  SharedMemory(int descriptor, std::size_t bytes) : descriptor_(descriptor), bytes_(bytes) {}

  int descriptor_ = -1;
  std::size_t bytes_ = 0;
  void* data_ = nullptr;
};

/// Whether memfd_create works here and fallbacks are not forced.
bool memfd_available();

/// Bytes that can still be taken: the smallest of MemAvailable, the rest of the container's memory limit and,
/// where memfd is missing, the free space of /dev/shm.
std::size_t memory_available();

}  // namespace os
}  // namespace phicoll
