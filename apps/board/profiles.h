// SPDX-License-Identifier: Apache-2.0
// The profiles of boards/, read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "boards/profile.h"
#include "core/status.h"

namespace weft::apps {

// InvalidInput says what is wrong and where.
Result<boards::Profile> ParseProfile(std::string_view name, std::string_view toml);

// Those this program was built with, by name. They live as long as the process.
const std::vector<boards::Profile>& Profiles();

}  // namespace weft::apps
