# SPDX-License-Identifier: Apache-2.0
# armv8-a and its checksum instructions, with the Cortex-A53 errata kept clear of: Raspberry Pi 3 and later, every Jetson.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CXX_FLAGS_INIT
  "-march=armv8-a+crc -mfix-cortex-a53-835769 -mfix-cortex-a53-843419")

cmake_path(APPEND CMAKE_CURRENT_LIST_DIR ../build/sysroots/aarch64 OUTPUT_VARIABLE CMAKE_SYSROOT)
cmake_path(NORMAL_PATH CMAKE_SYSROOT)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${CMAKE_SYSROOT} -cpu cortex-a72)
