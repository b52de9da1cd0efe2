// SPDX-License-Identifier: Apache-2.0
// Reads the binary version of CIFAR-10 and CIFAR-100: records of one or two label bytes and
// 3 x 32 x 32 pixels, channel after channel.
#pragma once

#include <memory>
#include <string>

#include "apps/data/open_dataset.h"

namespace weft::apps {

Result<std::unique_ptr<train::Dataset>> OpenCifar10(const std::string& folder, Split split);
Result<std::unique_ptr<train::Dataset>> OpenCifar100(const std::string& folder, Split split);

}  // namespace weft::apps
