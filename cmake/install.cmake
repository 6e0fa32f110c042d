# `cmake --install` installs libphicoll, its headers, the package for find_package(phicoll), and phicoll.pc for pkg-config.
# The target `uninstall` removes what was installed.
include(CMakePackageConfigHelpers)

set(PHICOLL_LIBRARIES phicoll phicoll_shmem phicoll_shmem_static)
foreach(library phicoll_measure phicoll_sim)
  if(TARGET ${library})
    list(APPEND PHICOLL_LIBRARIES ${library})
  endif()
endforeach()
set(PHICOLL_WITHOUT_HEADERS machines hydra mpi torch)   # folders
if(NOT PHICOLL_LABORATORY)
  list(APPEND PHICOLL_WITHOUT_HEADERS kernels programs measure sim)
endif()
list(TRANSFORM PHICOLL_WITHOUT_HEADERS REPLACE "(.+)" "PATTERN;\\1;EXCLUDE")

# phicoll_library_install(component libdir includedir configdir TARGETS...): the libraries, the headers and the CMake package.
function(phicoll_library_install component libdir includedir configdir)
  install(TARGETS ${ARGN} EXPORT phicoll-${component} COMPONENT ${component}
          ARCHIVE DESTINATION ${libdir} LIBRARY DESTINATION ${libdir})
  install(DIRECTORY ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../src/cpp/phicoll DESTINATION ${includedir} COMPONENT ${component}
          FILES_MATCHING PATTERN "*.hpp" ${PHICOLL_WITHOUT_HEADERS})
  install(FILES ${PHICOLL_VERSION_HEADER} DESTINATION ${includedir}/phicoll COMPONENT ${component})
  install(EXPORT phicoll-${component} FILE phicoll-targets.cmake NAMESPACE phicoll:: DESTINATION ${configdir} COMPONENT ${component})
  set(written ${CMAKE_CURRENT_BINARY_DIR}/${component})
  configure_package_config_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/phicoll-config.cmake.in
    ${written}/phicoll-config.cmake INSTALL_DESTINATION ${configdir})
  write_basic_package_version_file(${written}/phicoll-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${written}/phicoll-config.cmake ${written}/phicoll-config-version.cmake
          DESTINATION ${configdir} COMPONENT ${component})
endfunction()
set(PHICOLL_VERSION_HEADER ${CMAKE_CURRENT_BINARY_DIR}/generated/phicoll/version.hpp)
phicoll_library_install(development ${CMAKE_INSTALL_LIBDIR} ${CMAKE_INSTALL_INCLUDEDIR} ${CMAKE_INSTALL_LIBDIR}/cmake/phicoll
                        ${PHICOLL_LIBRARIES})
phicoll_shmem_install(development ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_INCLUDEDIR} wrappers)

# phicoll.pc finds its folders from its own place, as the CMake package does: what is installed may be moved.
file(RELATIVE_PATH PHICOLL_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" PHICOLL_PC_PREFIX "${PHICOLL_PC_PREFIX}")
get_target_property(PHICOLL_LINKED phicoll LINK_LIBRARIES)
set(PHICOLL_PC_LIBS_PRIVATE " -pthread")
if("${HWLOC_LIBRARY}" IN_LIST PHICOLL_LINKED)
  string(APPEND PHICOLL_PC_LIBS_PRIVATE " -lhwloc")
endif()
if(NOT BUILD_SHARED_LIBS)   # who links an archive links what it needs
  set(PHICOLL_PC_LIBS "${PHICOLL_PC_LIBS_PRIVATE}")
  set(PHICOLL_PC_LIBS_PRIVATE)
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/phicoll.pc.in ${CMAKE_CURRENT_BINARY_DIR}/phicoll.pc @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/phicoll-shmem.pc.in ${CMAKE_CURRENT_BINARY_DIR}/phicoll-shmem.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/phicoll.pc ${CMAKE_CURRENT_BINARY_DIR}/phicoll-shmem.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

if(CMAKE_SOURCE_DIR STREQUAL PROJECT_SOURCE_DIR)   # a project that has phicoll as a part has its own
  add_custom_target(uninstall VERBATIM
    COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake)
endif()
