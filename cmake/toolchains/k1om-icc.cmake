# Xeon Phi Knights Corner with Intel's compiler (up to 17.0, the last one with -mmic). See docs/k1om.md.
#   source /opt/intel/bin/compilervars.sh intel64
#   cmake -S . -B build-k1om --toolchain cmake/toolchains/k1om-icc.cmake -DPHICOLL_WITH_HWLOC=OFF
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR k1om)

set(MPSS_ROOT "/opt/mpss/3.8.6" CACHE PATH "Where MPSS with the card's sysroot is installed")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MPSS_ROOT)

set(CMAKE_C_COMPILER icc)
set(CMAKE_CXX_COMPILER icpc)
# Without the second and third option vector code rounds differently from all other machines.
set(CMAKE_C_FLAGS_INIT "-mmic -fp-model precise -no-fma")
set(CMAKE_CXX_FLAGS_INIT "-mmic -fp-model precise -no-fma")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-mmic")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-mmic")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-mmic")
set(CMAKE_C_STANDARD_LIBRARIES "-lrt")
set(CMAKE_CXX_STANDARD_LIBRARIES "-lrt")

# Programs from the host; headers and libraries of the card only.
set(CMAKE_FIND_ROOT_PATH "${MPSS_ROOT}/sysroots/k1om-mpss-linux")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
