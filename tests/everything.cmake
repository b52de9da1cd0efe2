# SPDX-License-Identifier: Apache-2.0
# What ctest gets to run, of what `./dev test` and `./dev package-test` ask for: `packages`, which are
# made of the programs that are built, and tried; `presets`, the suites of each preset's build tree;
# `checks` on the sources.
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)

# First, for they are long. What is made is a test's fixture: where no test needs it, it is not made.
if(packages)
  foreach(arch amd64 arm64 armhf)
    add_test(packages/make-${arch} bash ${root}/dev package ${arch})
    set_tests_properties(packages/make-${arch} PROPERTIES FIXTURES_SETUP packages-${arch})
  endforeach()
  add_test(packages/reproducible bash ${root}/tests/packages/reproducible_test.sh)
  set_tests_properties(packages/reproducible PROPERTIES FIXTURES_REQUIRED packages-amd64)
  foreach(arch amd64 arm64)
    add_test(packages/root-${arch} bash ${root}/dev package-root ${arch})
    set_tests_properties(packages/root-${arch} PROPERTIES
      FIXTURES_REQUIRED packages-${arch} FIXTURES_SETUP root-${arch})
    add_test(packages/life-${arch} python3 ${root}/tests/packages/life_test.py ${arch})
    set_tests_properties(packages/life-${arch} PROPERTIES
      FIXTURES_REQUIRED "packages-${arch};root-${arch}")
  endforeach()
  add_test(packages/deploy python3 ${root}/tests/packages/deploy_test.py)
  set_tests_properties(packages/deploy PROPERTIES
    FIXTURES_REQUIRED "packages-amd64;packages-arm64;root-amd64;root-arm64")
  add_test(packages/shape python3 ${root}/tests/packages/shape_test.py)
  set_tests_properties(packages/shape PROPERTIES
    FIXTURES_REQUIRED "packages-amd64;packages-arm64;packages-armhf")
  add_test(packages/images python3 ${root}/tests/packages/images_test.py)
  set_tests_properties(packages/images PROPERTIES FIXTURES_REQUIRED packages-arm64)
  foreach(test make-amd64 make-arm64 make-armhf reproducible root-amd64 root-arm64 life-amd64 life-arm64
          deploy shape images)
    set_tests_properties(packages/${test} PROPERTIES TIMEOUT 900)
  endforeach()
endif()

foreach(preset IN LISTS presets)
  subdirs(${root}/build/${preset})
endforeach()

if(checks)
  add_test(checks/folders python3 ${root}/tools/check_folders.py)
  add_test(checks/folders-selftest python3 ${root}/tests/tools/check_folders_test.py)
  add_test(checks/format bash ${root}/tools/format.sh --check)
  add_test(checks/fuzz bash ${root}/tools/fuzz.sh 5)
endif()
