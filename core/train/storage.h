// SPDX-License-Identifier: Apache-2.0
// The seam for state that must outlive the process and the power supply: what a trainer or a
// server needs to go on where it stopped. What the bytes mean is their writer's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace weft::train {

// What Load found. Moving it keeps the parts valid.
struct StoredState {
  std::vector<std::span<const std::byte>> parts;  // as they were saved; not aligned
  uint64_t generation = 0;                        // 1 for the first save under a name
  // Empty, or a sentence for people: a newer save was there but damaged, so this is an older one.
  std::string fallback;
  std::unique_ptr<std::byte[]> bytes;  // what the parts point into
};

// Thread: one call at a time. A name is 1 to 64 of a-z, 0-9, '-' and '_'; any other is
// InvalidInput.
class Storage {
 public:
  virtual ~Storage() = default;

  // Keeps `parts` under `name`. The save before this one stays available until the next. When Ok
  // is returned the state is on the disk; after any other Status, or if the process or the machine
  // stops in the middle, Load gives either this state or the one before, whole.
  virtual Status Save(std::string_view name, std::span<const std::span<const std::byte>> parts) = 0;

  // The newest undamaged state. NotFound if nothing was ever saved under `name`; InvalidInput if
  // all of what is there is damaged, or is of a newer weft.
  virtual Result<StoredState> Load(std::string_view name) = 0;
};

}  // namespace weft::train
