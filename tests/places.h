// SPDX-License-Identifier: Apache-2.0
// Where the tests' own files are, and the workbench they try. tests/CMakeLists.txt says it, to one
// source only, so that all others are the same in every clone and need not be compiled again there.
#pragma once

#include <string>

namespace weft::tests {

std::string TestsFolder();
std::string BoardsFolder();
// weft; empty where it is not built.
std::string Workbench();
// weft_guard.so; empty where the broker is of another architecture.
std::string GuardFile();

}  // namespace weft::tests
