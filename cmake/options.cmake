# Whether the library's own code has its asserts (support/assert.hpp): never in what is installed or measured.
set(PHICOLL_CHECKED OFF)
if(PHICOLL_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(PHICOLL_CHECKED ON)
endif()
set(PHICOLL_HARDENS OFF)
if(PHICOLL_HARDEN AND NOT PHICOLL_SANITIZE AND NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "k1om")
  set(PHICOLL_HARDENS ON)
endif()

# phicoll_options(target): warnings, asserts, sanitizer and optimisation of every target of phicoll.
function(phicoll_options target)
  if(PHICOLL_HARDENS)
    # What calls to other libraries go through is found when the file is loaded, and read-only from then on.
    target_link_options(${target} PRIVATE -Wl,-z,relro,-z,now)
  endif()
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
  if(PHICOLL_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
    target_compile_options(${target} PRIVATE -O2 -g1)
  endif()
  if(PHICOLL_CHECKED)
    target_compile_definitions(${target} PRIVATE PHICOLL_CHECKED=1)
  endif()
  if(PHICOLL_SANITIZE)
    # -O0 takes half of -O2's time to compile, and a fifth longer to run than -O1. What a sanitizer finds ends the
    # program: a test that only printed it would pass, and code that goes on takes twice as long to compile. Only the
    # check of a vptr may go on: it opens a pipe, and finds fault with every object in a test that has used up its file
    # descriptors.
    target_compile_options(${target} PRIVATE -O0 -g1 -fsanitize=${PHICOLL_SANITIZE} -fno-sanitize-recover=all
                           -fno-omit-frame-pointer)
    if(PHICOLL_SANITIZE MATCHES "undefined")
      target_compile_options(${target} PRIVATE -fsanitize-recover=vptr)
    endif()
    target_link_options(${target} PUBLIC -fsanitize=${PHICOLL_SANITIZE})
  endif()
endfunction()

# phicoll_guarded(target): for what reads words of others and is on no call's path. Stacks are checked before a function returns, and
# copies against the size of what they go to, which small calls would pay for.
function(phicoll_guarded target)
  if(PHICOLL_HARDENS)
    target_compile_options(${target} PRIVATE -fstack-protector-strong)
    if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")  # glibc wants an optimising compiler for it
      target_compile_options(${target} PRIVATE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
    endif()
  endif()
endfunction()

# phicoll_by_folder(target): compiles a folder's sources as one, which takes some 43 % less processor time: each source alone
# reads the same headers again. PHICOLL_BY_FOLDER=OFF compiles each alone, so that a change compiles little, and an include that
# is forgotten is found: make test-long does so. What is generated, one source an operation, stays apart unless GENERATED is given.
function(phicoll_by_folder target)
  if(NOT PHICOLL_BY_FOLDER)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_filename_component(folder ${source} DIRECTORY)
    get_filename_component(folder ${folder} NAME)
    if("GENERATED" IN_LIST ARGN OR NOT folder STREQUAL "generated")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${folder}")
    endif()
  endforeach()
endfunction()
