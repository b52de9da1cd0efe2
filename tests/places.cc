// SPDX-License-Identifier: Apache-2.0
#include "tests/places.h"

namespace weft::tests {

std::string TestsFolder() { return WEFT_TESTS_DIR; }

std::string BoardsFolder() { return WEFT_TESTS_DIR "/../boards"; }

std::string Workbench() { return WEFT; }

std::string GuardFile() { return WEFT_GUARD; }

}  // namespace weft::tests
