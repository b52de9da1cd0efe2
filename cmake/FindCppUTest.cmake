# SPDX-License-Identifier: Apache-2.0
# Finds CppUTest by its files, inside the sysroot when there is one, and offers it as
# CppUTest::CppUTest. Debian's own CppUTestConfig.cmake looks for headers where they are not.
find_path(CppUTest_INCLUDE_DIR CppUTest/TestHarness.h)
find_library(CppUTest_LIBRARY CppUTest)
mark_as_advanced(CppUTest_INCLUDE_DIR CppUTest_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CppUTest REQUIRED_VARS CppUTest_LIBRARY CppUTest_INCLUDE_DIR)

if(CppUTest_FOUND AND NOT TARGET CppUTest::CppUTest)
  add_library(CppUTest::CppUTest UNKNOWN IMPORTED)
  # The definition takes away its macro named `new`, which breaks standard headers included after.
  set_target_properties(CppUTest::CppUTest PROPERTIES
    IMPORTED_LOCATION ${CppUTest_LIBRARY}
    INTERFACE_COMPILE_DEFINITIONS CPPUTEST_MEM_LEAK_DETECTION_DISABLED
    INTERFACE_INCLUDE_DIRECTORIES ${CppUTest_INCLUDE_DIR})
endif()
