// SPDX-License-Identifier: Apache-2.0
// Images that need no files: each class has a coarse pattern, each image is its class's pattern
// in noise. A network can learn it, so a falling loss shows that training works. The same on
// every machine.
#pragma once

#include <memory>
#include <string>

#include "apps/data/open_dataset.h"

namespace weft::apps {

// `description` is "CxHxW:CLASSES[:SIZE]"; both splits have SIZE images, 1024 unless given.
Result<std::unique_ptr<train::Dataset>> OpenSynthetic(const std::string& description, Split split);

}  // namespace weft::apps
