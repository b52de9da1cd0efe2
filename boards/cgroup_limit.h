// SPDX-License-Identifier: Apache-2.0
// How much memory the control groups around this process leave it, in both versions of Linux's
// interface and in the mixture of the two.
#pragma once

#include <cstdint>
#include <string>

namespace weft::boards {

// The least that the group of this process, or one above it, allows; 0 if none sets a limit.
// `root` is where /proc and /sys are looked for: "" for this machine's.
int64_t CgroupMemoryLimit(const std::string& root);

}  // namespace weft::boards
