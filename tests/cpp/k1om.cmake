# The tests of the k1om part: they need an x86-64 host and Zydis, whose headers need Zycore's (Debian: libzydis-dev, which
# brings libzycore-dev). Without these they are left out, with a message. A script of its own, so that the list of tests
# stays one line.
set(PHICOLL_K1OM_TESTS OFF)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  message(STATUS "test_k1om and k1om_audit left out: they run on x86-64 hosts only")
else()
  find_path(ZYDIS_INCLUDE_DIR Zydis/Zydis.h)
  find_path(ZYCORE_INCLUDE_DIR Zycore/Types.h)
  find_library(ZYDIS_LIBRARY Zydis)
  if(ZYDIS_INCLUDE_DIR AND ZYCORE_INCLUDE_DIR AND ZYDIS_LIBRARY)
    set(PHICOLL_K1OM_TESTS ON)
    add_library(phicoll_zydis INTERFACE)
    target_include_directories(phicoll_zydis SYSTEM INTERFACE ${ZYDIS_INCLUDE_DIR} ${ZYCORE_INCLUDE_DIR})
    target_link_libraries(phicoll_zydis INTERFACE ${ZYDIS_LIBRARY})
  else()
    message(STATUS "test_k1om and k1om_audit left out: Zydis or Zycore not found (Debian: libzydis-dev)")
  endif()
endif()
if(NOT PHICOLL_K1OM_TESTS)
  list(FILTER PHICOLL_TESTS EXCLUDE REGEX "test_k1om")
endif()

# An object library of the integer-only units: arch, memory and the barriers on the native port.
function(phicoll_k1om_probe name)
  add_library(${name} OBJECT k1om_probe.cpp ${ARGN})
  target_include_directories(${name} PRIVATE $<TARGET_PROPERTY:phicoll,INTERFACE_INCLUDE_DIRECTORIES>)
  set_target_properties(${name} PROPERTIES CXX_STANDARD 14)
endfunction()

function(phicoll_link_k1om_tests)
  if(NOT PHICOLL_K1OM_TESTS)
    return()
  endif()
  target_link_libraries(test_k1om PRIVATE phicoll_zydis)
  add_executable(k1om_audit k1om_audit.cpp)
  target_link_libraries(k1om_audit PRIVATE phicoll_zydis)
  phicoll_options(k1om_audit)
  set_target_properties(k1om_audit PROPERTIES CXX_STANDARD 17)

  file(GLOB memory CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cpp/phicoll/memory/*.cpp)
  phicoll_k1om_probe(k1om_probe ${memory})
  target_compile_definitions(k1om_probe PRIVATE PHICOLL_ARCH_K1OM=1)
  # -fcf-protection puts ENDBR64 in, which gcc for k1om does not.
  target_compile_options(k1om_probe PRIVATE -O2 -march=x86-64 -mno-sse -mno-mmx -fcf-protection=none)
  add_test(NAME k1om_audit COMMAND k1om_audit $<TARGET_OBJECTS:k1om_probe> COMMAND_EXPAND_LISTS)

  # The same source for the host has PAUSE, SSE and more in it: the audit must refuse that.
  phicoll_k1om_probe(k1om_probe_of_the_host)
  target_compile_options(k1om_probe_of_the_host PRIVATE -O2)
  add_test(NAME k1om_audit_refuses_host_code COMMAND k1om_audit $<TARGET_OBJECTS:k1om_probe_of_the_host> COMMAND_EXPAND_LISTS)
  set_tests_properties(k1om_audit_refuses_host_code PROPERTIES PASS_REGULAR_EXPRESSION "NOT ON THE CARD: PAUSE")
  set_tests_properties(k1om_audit k1om_audit_refuses_host_code PROPERTIES TIMEOUT 60)
endfunction()
