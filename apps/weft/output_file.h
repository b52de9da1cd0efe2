// SPDX-License-Identifier: Apache-2.0
// Whether a file can be written, found before the work that is to fill it.
#pragma once

#include <string>

#include "core/status.h"

namespace weft::apps {

// What is there stays as it is. Unavailable names the file.
Status CheckWritable(const std::string& path);

}  // namespace weft::apps
