# SPDX-License-Identifier: Apache-2.0
# How weft's own code is compiled: the language, the warnings, the sanitizers. Every target of ours
# gets it by linking weft_flags. No -march here (toolchains/ has it) and no NDEBUG in any build type:
# an assert that fires is a bug, and a bug stops the process.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g1 -fno-omit-frame-pointer")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# A target's files are compiled eight at a time, for most of the work is in the headers they share.
# The static build compiles each alone, and so sees that each includes what it needs.
if(NOT DEFINED CMAKE_UNITY_BUILD)
  set(CMAKE_UNITY_BUILD ON)
endif()
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# Everything from .a files, at an address of the loader's choice as in any other build.
if(WEFT_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(OPENSSL_USE_STATIC_LIBS TRUE)
  add_link_options(-static-pie)
else()
  add_link_options(-Wl,--as-needed)
endif()

# All of them but the sanitizers, for what somebody else's program loads: weft_plain_flags.
find_package(Threads REQUIRED)
add_library(weft_plain_flags INTERFACE)
target_include_directories(weft_plain_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_link_libraries(weft_plain_flags INTERFACE Threads::Threads)
target_compile_options(weft_plain_flags INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual
  -Wno-missing-field-initializers  # designated initialisers name what differs from the default
  -Wextra-semi -Wformat=2 -Wimplicit-fallthrough -Wundef -Wvla
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op -Wsuggest-override
    -Wno-psabi     # armv7: every inlined std call would carry a note about GCC 7's ABI change
    -Wno-restrict  # GCC 12 sees overlaps in std::string's operator+ that are not there (PR105651)
  >)

# Nothing in a program tells where it was built, so that two builds give the same bytes. ccache, with
# CCACHE_BASEDIR, shows the compiler the sources by a path from the build tree.
cmake_path(RELATIVE_PATH PROJECT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_BINARY_DIR} OUTPUT_VARIABLE from_build_tree)
target_compile_options(weft_plain_flags INTERFACE $<$<CONFIG:Release>:
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.
  -ffile-prefix-map=${from_build_tree}=.>)

add_library(weft_flags INTERFACE)
target_link_libraries(weft_flags INTERFACE weft_plain_flags)
if(WEFT_SANITIZE)
  # -Wmaybe-uninitialized misjudges instrumented code; the release build has it on.
  target_compile_options(weft_flags INTERFACE
    -fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=all -Wno-maybe-uninitialized)
  target_compile_definitions(weft_flags INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
endif()
