# 64-bit ARM, cross-compiled on a Debian-like host (g++-aarch64-linux-gnu) and tested under QEMU's user mode (qemu-user):
#   cmake -S . -B build-aarch64 --toolchain cmake/toolchains/aarch64-linux-gnu.cmake
#         -DPHICOLL_BUILD_TESTS=ON -DPHICOLL_WITH_HWLOC=OFF
#   cmake --build build-aarch64 && ctest --test-dir build-aarch64
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# Programs from the host; headers and libraries of the target only.
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# ctest runs every test under the emulator if there is one.
find_program(PHICOLL_QEMU_AARCH64 NAMES qemu-aarch64 qemu-aarch64-static)
if(PHICOLL_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${PHICOLL_QEMU_AARCH64};-L;/usr/aarch64-linux-gnu")
endif()
