// SPDX-License-Identifier: Apache-2.0
// Cost profiles as JSON files: written by a measuring trainer or by hand, so nothing in them is
// trusted. docs/profile.md has the format.
#pragma once

#include <string>

#include "sched/cost_profile.h"

namespace weft::apps {

// A refusal names the file and the field.
Result<sched::CostProfile> ReadProfileFile(const std::string& path);

// Such that ReadProfileFile reads the same. Failure: the file cannot be written.
Status WriteProfileFile(const std::string& path, const sched::CostProfile& profile);

// As ReadProfileFile, from the text itself.
Result<sched::CostProfile> ParseProfile(const std::string& text);

}  // namespace weft::apps
