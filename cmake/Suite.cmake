# SPDX-License-Identifier: Apache-2.0
# weft_add_suite(<name> [ALONE] [FIRST] SOURCES <file>... LINK <target>...)
#
# Builds the CppUTest runner <name>_test and gives ctest one test for each TEST_GROUP in it, called
# <build tree>/<name>.<Group>: release/sched.Planner. The groups are asked of the runner itself after
# each link, through the emulator when cross compiling, so a new group needs no line here. A group
# in which no test runs, or in which one is ignored, fails.
# Long ones should begin FIRST. Tests run beside each other, unless they are to run ALONE, so
# OpenMP's threads must not spin for long. One that is still running after WEFT_TEST_TIMEOUT seconds,
# set where the suite is added, has failed.
find_package(CppUTest REQUIRED)

function(weft_add_suite name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ALONE;FIRST" "" "SOURCES;LINK")
  set(runner ${name}_test)
  set(cost 0)
  if(arg_FIRST)
    set(cost 1000)
  endif()
  set(groups_file ${CMAKE_CURRENT_BINARY_DIR}/${runner}.groups)
  set(include_file ${CMAKE_CURRENT_BINARY_DIR}/${runner}.ctest.cmake)
  cmake_path(GET CMAKE_BINARY_DIR FILENAME tree)

  add_executable(${runner} ${PROJECT_SOURCE_DIR}/tests/main.cc ${arg_SOURCES})
  target_link_libraries(${runner} PRIVATE ${arg_LINK} weft_flags CppUTest::CppUTest)
  # What is tried is optimised, but for what its headers define, of which a runner has copies of its
  # own; the trying compiles quicker without.
  target_compile_options(${runner} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:Debug>:-O0>)
  add_custom_command(TARGET ${runner} POST_BUILD
    COMMAND ${runner} -lg > ${groups_file}
    BYPRODUCTS ${groups_file}
    VERBATIM)

  # Read by ctest, not by cmake: the groups are known only once the runner is built.
  file(GENERATE OUTPUT ${include_file} CONTENT "\
set(emulator \"${CMAKE_CROSSCOMPILING_EMULATOR}\")
set(groups \"\")
if(EXISTS \"${groups_file}\")
  file(READ \"${groups_file}\" groups)
  separate_arguments(groups)
endif()
if(NOT groups)
  set(groups NOT_BUILT)
endif()
foreach(group IN LISTS groups)
  set(test \"${tree}/${name}.\${group}\")
  add_test(\"\${test}\" \${emulator} \"$<TARGET_FILE:${runner}>\" -v -sg \"\${group}\")
  set_tests_properties(\"\${test}\" PROPERTIES
    WORKING_DIRECTORY \"${CMAKE_CURRENT_BINARY_DIR}\"
    ENVIRONMENT GOMP_SPINCOUNT=1000
    TIMEOUT ${WEFT_TEST_TIMEOUT}
    RUN_SERIAL ${arg_ALONE}
    COST ${cost}
    FAIL_REGULAR_EXPRESSION \"tests, 0 ran,;checks, [1-9][0-9]* ignored,\")
endforeach()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include_file})
endfunction()
