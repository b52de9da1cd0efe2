# SPDX-License-Identifier: Apache-2.0
# x86-64-v2 (SSE4.2): every Xeon and desktop since 2009. Wider kernels are chosen at run time.
set(CMAKE_CXX_COMPILER g++)
set(CMAKE_CXX_FLAGS_INIT "-march=x86-64-v2")
