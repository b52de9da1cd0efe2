// SPDX-License-Identifier: Apache-2.0
// Which profile a machine has, and what follows from it for this one machine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "boards/probe.h"
#include "boards/profile.h"

namespace weft::boards {

struct Recognised {
  const Profile* profile = nullptr;  // one of those given
  std::string by;                    // "device tree: brcm,bcm2711"
};

// `profiles` must not be empty. Of the device tree's words the most special that any profile knows
// decides, then the model, then the processor, then the architecture; a machine that is none of
// all that gets the first profile.
Recognised Recognise(const Facts& facts, std::span<const Profile> profiles);

struct Share {
  std::vector<int> cpus;     // to compute on, one thread each
  int64_t memory_bytes = 0;  // that the budget is a share of; 0: unknown
  int64_t budget_bytes = 0;  // for the whole trainer; 0: unknown, so no limit
};

// Where `facts` are those of another machine than the profile's, no more memory counts than the
// board is sold with.
Share ShareOf(const Profile& profile, const Facts& facts);

}  // namespace weft::boards
