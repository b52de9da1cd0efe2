# SPDX-License-Identifier: Apache-2.0
# What ctest gets to run. `./dev test` sets `presets`: the suites of each preset's build tree, and the
# checks on the sources. `./dev package-test` sets `packages`: those that were made before, in
# build/packages.
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)

if(packages)
  add_test(packages/shape python3 ${root}/tests/packages/shape_test.py)
  add_test(packages/reproducible bash ${root}/tests/packages/reproducible_test.sh)
  foreach(arch amd64 arm64)
    add_test(packages/life-${arch} python3 ${root}/tests/packages/life_test.py ${arch})
  endforeach()
  return()
endif()

foreach(preset IN LISTS presets)
  subdirs(${root}/build/${preset})
endforeach()

add_test(checks/folders python3 ${root}/tools/check_folders.py)
add_test(checks/folders-selftest python3 ${root}/tests/tools/check_folders_test.py)
add_test(checks/format bash ${root}/tools/format.sh --check)
add_test(checks/fuzz bash ${root}/tools/fuzz.sh 5)
