# OpenSHMEM: libphicoll-shmem, its headers, and the programs oshcc, oshc++ and oshrun.
file(GLOB PHICOLL_SHMEM_SOURCES CONFIGURE_DEPENDS phicoll/shmem/*.cpp)
file(GLOB PHICOLL_SHMEM_PARTS CONFIGURE_DEPENDS phicoll/shmem/*.h)
set(PHICOLL_SHMEM_HEADERS)
foreach(name shmem shmemx pshmem)
  list(APPEND PHICOLL_SHMEM_HEADERS ${CMAKE_CURRENT_SOURCE_DIR}/phicoll/shmem/${name}.h)
  list(REMOVE_ITEM PHICOLL_SHMEM_PARTS ${CMAKE_CURRENT_SOURCE_DIR}/phicoll/shmem/${name}.h)
endforeach()

# C programs link it without the C++ library: it is a shared one, which has libphicoll inside if that is an archive. The
# archive beside it is for programs that have both.
add_library(phicoll_shmem_objects OBJECT ${PHICOLL_SHMEM_SOURCES})
target_link_libraries(phicoll_shmem_objects PUBLIC phicoll)
phicoll_options(phicoll_shmem_objects)
set_target_properties(phicoll_shmem_objects PROPERTIES CXX_STANDARD 14)
phicoll_by_folder(phicoll_shmem_objects)
# What programs call again and again is compiled alone, as in group/.
foreach(source collectives transfers waits)
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/phicoll/shmem/${source}.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endforeach()
add_library(phicoll_shmem SHARED $<TARGET_OBJECTS:phicoll_shmem_objects>)
add_library(phicoll::shmem ALIAS phicoll_shmem)
target_link_libraries(phicoll_shmem PRIVATE phicoll)
phicoll_options(phicoll_shmem)
# The library calls its own functions directly, not through the procedure linkage table.
target_link_options(phicoll_shmem PRIVATE -Wl,-Bsymbolic-functions)
set_target_properties(phicoll_shmem PROPERTIES OUTPUT_NAME phicoll-shmem EXPORT_NAME shmem LINKER_LANGUAGE CXX)
target_include_directories(phicoll_shmem PUBLIC
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/phicoll/shmem>
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
add_library(phicoll_shmem_static STATIC $<TARGET_OBJECTS:phicoll_shmem_objects>)
add_library(phicoll::shmem_static ALIAS phicoll_shmem_static)
target_link_libraries(phicoll_shmem_static PUBLIC phicoll)
set_target_properties(phicoll_shmem_static PROPERTIES OUTPUT_NAME phicoll-shmem EXPORT_NAME shmem_static LINKER_LANGUAGE CXX)
target_include_directories(phicoll_shmem_static PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/phicoll/shmem>)

add_executable(oshrun oshrun/main.cpp)
target_link_libraries(oshrun PRIVATE phicoll_shmem_static)
phicoll_options(oshrun)
phicoll_guarded(oshrun)
set_target_properties(oshrun PROPERTIES CXX_STANDARD 14)

set(PHICOLL_SHMEM_WRITTEN ${CMAKE_CURRENT_BINARY_DIR})
# The wrappers find their folders from their own place. `libdir` is that of the installation, or `lib` in the Python package.
function(phicoll_shmem_wrappers folder libdir)
  set(LIBDIR ${libdir})
  foreach(wrapper "oshcc cc CC" "oshc++ c++ CXX")
    string(REPLACE " " ";" words ${wrapper})
    list(GET words 0 NAME)
    list(GET words 1 COMPILER)
    list(GET words 2 VARIABLE)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/oshcc.in ${folder}/${NAME} @ONLY)
  endforeach()
endfunction()
phicoll_shmem_wrappers(${PHICOLL_SHMEM_WRITTEN}/wrappers ${CMAKE_INSTALL_LIBDIR})
phicoll_shmem_wrappers(${PHICOLL_SHMEM_WRITTEN}/package_wrappers lib)
file(WRITE ${PHICOLL_SHMEM_WRITTEN}/mpp/shmem.h "/* Deprecated: */\n#include <shmem.h>\n")

# phicoll_shmem_install(component bindir includedir wrappers): all but the library.
function(phicoll_shmem_install component bindir includedir wrappers)
  install(TARGETS oshrun RUNTIME DESTINATION ${bindir} COMPONENT ${component})
  install(PROGRAMS ${PHICOLL_SHMEM_WRITTEN}/${wrappers}/oshcc ${PHICOLL_SHMEM_WRITTEN}/${wrappers}/oshc++
          DESTINATION ${bindir} COMPONENT ${component})
  install(FILES ${PHICOLL_SHMEM_HEADERS} DESTINATION ${includedir} COMPONENT ${component})
  install(FILES ${PHICOLL_SHMEM_PARTS} DESTINATION ${includedir}/phicoll/shmem COMPONENT ${component})
  install(FILES ${PHICOLL_SHMEM_WRITTEN}/mpp/shmem.h DESTINATION ${includedir}/mpp COMPONENT ${component})
endfunction()
