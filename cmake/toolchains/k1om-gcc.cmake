# Xeon Phi Knights Corner with the GCC 5.1.1 of MPSS 3.6 to 3.8 (older MPSS has no C++14). See docs/k1om.md.
#   cmake -S . -B build-k1om --toolchain cmake/toolchains/k1om-gcc.cmake -DMPSS_ROOT=/opt/mpss/3.8.6
#         -DPHICOLL_WITH_HWLOC=OFF
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR k1om)

set(MPSS_ROOT "/opt/mpss/3.8.6" CACHE PATH "Where MPSS, with its cross compiler and the card's sysroot, is installed")
# To try the compiler, CMake configures small projects that read this file too and must find the same MPSS.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MPSS_ROOT)

set(phicoll_k1om_tools "${MPSS_ROOT}/sysroots/x86_64-mpsssdk-linux/usr/bin/k1om-mpss-linux/k1om-mpss-linux-")
set(CMAKE_C_COMPILER "${phicoll_k1om_tools}gcc")
set(CMAKE_CXX_COMPILER "${phicoll_k1om_tools}g++")
set(CMAKE_SYSROOT "${MPSS_ROOT}/sysroots/k1om-mpss-linux")
if(NOT EXISTS "${CMAKE_CXX_COMPILER}")
  message(FATAL_ERROR "MPSS_ROOT: got ${MPSS_ROOT}, where there is no ${CMAKE_CXX_COMPILER}; "
                      "allowed: the folder of an MPSS 3.6 to 3.8 with its SDK installed")
endif()

# No -m options: this compiler has one target. Scalar floating point is x87: -ffloat-store drops what a variable has beyond
# its type's precision. It still rounds twice, so that last bits can differ from other machines.
set(CMAKE_C_FLAGS_INIT "-ffloat-store")
set(CMAKE_CXX_FLAGS_INIT "-ffloat-store")
# Programs are static: the C++ library of most cards' systems is older than the compiler, or missing. An archive of threads is
# linked whole, since the C++ library refers to it weakly and would find some of its functions missing at run time.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static")
# clock_gettime and shm_open live in librt in the card's C library.
set(phicoll_k1om_libraries "-Wl,--whole-archive -lpthread -Wl,--no-whole-archive -lrt")
set(CMAKE_C_STANDARD_LIBRARIES "${phicoll_k1om_libraries}")
set(CMAKE_CXX_STANDARD_LIBRARIES "${phicoll_k1om_libraries}")

# Programs from the host; headers and libraries of the card only.
set(CMAKE_FIND_ROOT_PATH "${CMAKE_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
