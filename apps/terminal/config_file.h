// SPDX-License-Identifier: Apache-2.0
// A command's flags from a TOML file: `batch = 64` stands for `--batch 64`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"

namespace weft::apps {

// `arguments` with the keys of the file that `--config FILE` among them names added as flags, and
// --config itself taken out. What was typed wins over the file. Unchanged without --config.
Result<std::vector<std::string>> WithConfigFile(const std::vector<std::string>& arguments);

// The same arguments in two parts: the file that --config names, if it is there, and all others.
struct SplitArguments {
  std::optional<std::string> config_file = {};
  std::vector<std::string> others = {};
};
SplitArguments SplitConfigFile(const std::vector<std::string>& arguments);

}  // namespace weft::apps
