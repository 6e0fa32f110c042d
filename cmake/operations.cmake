# phicoll_operation_units(variable template prefix): one source a collective operation, made of `template`.
# An operation is a folder of collectives/ with a registry.hpp. One unit an operation compiles all its algorithms,
# so that a change in one algorithm's file compiles that operation alone.
function(phicoll_operation_units variable template prefix)
  file(GLOB registries CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cpp/phicoll/collectives/*/registry.hpp)
  set(units)
  foreach(registry ${registries})
    get_filename_component(folder ${registry} DIRECTORY)
    get_filename_component(OPERATION ${folder} NAME)
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/generated/${prefix}_${OPERATION}.cpp)
    configure_file(${template} ${unit} @ONLY)
    list(APPEND units ${unit})
  endforeach()
  set(${variable} ${units} PARENT_SCOPE)
endfunction()
