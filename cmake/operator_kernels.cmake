# Compiler flags of the reduction operators' loops: vectorised (RelWithDebInfo's -O2 does so sparingly); without fused
# operations, so that every instruction set gives the same bits; on x86-64 compiled for newer processors, too, from
# which the library chooses at run time. A build without these properties has the baseline loops only.
include(CheckCXXCompilerFlag)
set(loops -ffp-contract=off -fno-trapping-math)
if(NOT PHICOLL_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  list(APPEND loops -O3)
endif()
set(folder phicoll/collectives/operators)
set_source_files_properties(${folder}/operator_kernels.cpp ${folder}/operator_kernels_avx2.cpp
                            ${folder}/operator_kernels_avx512.cpp ${folder}/operator_kernels_avx512_bf16.cpp
                            PROPERTIES COMPILE_OPTIONS "${loops}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  check_cxx_compiler_flag("-mavx2 -mf16c" PHICOLL_COMPILES_AVX2)
  if(PHICOLL_COMPILES_AVX2)
    set_source_files_properties(${folder}/operator_kernels_avx2.cpp PROPERTIES COMPILE_OPTIONS "${loops};-mavx2;-mf16c")
  endif()
  set(avx512 -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl)
  check_cxx_compiler_flag("-mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl" PHICOLL_COMPILES_AVX512)
  if(PHICOLL_COMPILES_AVX512)
    set_source_files_properties(${folder}/operator_kernels_avx512.cpp PROPERTIES COMPILE_OPTIONS "${loops};${avx512}")
    check_cxx_compiler_flag("-mavx512bf16" PHICOLL_COMPILES_AVX512_BF16)
    if(PHICOLL_COMPILES_AVX512_BF16)
      set_source_files_properties(${folder}/operator_kernels_avx512_bf16.cpp
                                  PROPERTIES COMPILE_OPTIONS "${loops};${avx512};-mavx512bf16")
    endif()
  endif()
endif()
