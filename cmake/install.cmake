# `cmake --install` installs libphicoll, its headers, and the package for find_package(phicoll).
include(CMakePackageConfigHelpers)

set(PHICOLL_LIBRARIES phicoll phicoll_measure)
if(TARGET phicoll_sim)
  list(APPEND PHICOLL_LIBRARIES phicoll_sim)
endif()
install(TARGETS ${PHICOLL_LIBRARIES} EXPORT phicoll-targets COMPONENT development
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY phicoll DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.hpp")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/generated/phicoll/version.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/phicoll COMPONENT development)

set(PHICOLL_CONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/phicoll)
install(EXPORT phicoll-targets NAMESPACE phicoll:: DESTINATION ${PHICOLL_CONFIG_DIR} COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/phicoll-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/phicoll-config.cmake INSTALL_DESTINATION ${PHICOLL_CONFIG_DIR})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/phicoll-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/phicoll-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/phicoll-config-version.cmake
        DESTINATION ${PHICOLL_CONFIG_DIR} COMPONENT development)
