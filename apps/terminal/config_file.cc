// SPDX-License-Identifier: Apache-2.0
#include "apps/terminal/config_file.h"

#include <toml++/toml.h>
#include <algorithm>
#include <sstream>

namespace weft::apps {
namespace {

// The flag for one key, or nothing for a switch that is off.
Result<std::vector<std::string>> FlagOf(const std::string& path, const std::string& key,
                                        const toml::node& node) {
  if (const auto on = node.as_boolean()) {
    return on->get() ? std::vector<std::string>{"--" + key} : std::vector<std::string>{};
  }
  std::ostringstream text;
  if (const auto* string = node.as_string()) {
    text << string->get();
  } else if (const auto* integer = node.as_integer()) {
    text << integer->get();
  } else if (const auto* number = node.as_floating_point()) {
    text.precision(17);
    text << number->get();
  } else {
    return Status::InvalidInput(path + ": '" + key + "' must be a string, a number, true or false");
  }
  return std::vector<std::string>{"--" + key, text.str()};
}

}  // namespace

SplitArguments SplitConfigFile(const std::vector<std::string>& arguments) {
  SplitArguments split;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with("--config=")) {
      split.config_file = arguments[i].substr(std::string("--config=").size());
    } else if (arguments[i] == "--config" && i + 1 < arguments.size()) {
      split.config_file = arguments[++i];
    } else {
      split.others.push_back(arguments[i]);
    }
  }
  return split;
}

Result<std::vector<std::string>> WithConfigFile(const std::vector<std::string>& arguments) {
  SplitArguments split = SplitConfigFile(arguments);
  if (!split.config_file) return split.others;
  const std::string path = *split.config_file;
  std::vector<std::string>& all = split.others;
  toml::table table;
  try {
    table = toml::parse_file(path);
  } catch (const toml::parse_error& error) {
    std::ostringstream where;
    if (error.source().begin.line > 0) where << " in line " << error.source().begin.line;
    return Status::InvalidInput("cannot use '" + path +
                                "' as --config: " + std::string(error.description()) + where.str());
  }
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::string flag = "--" + name;
    const bool typed = std::any_of(all.begin(), all.end(), [&](const std::string& argument) {
      return argument == flag || argument.starts_with(flag + "=");
    });
    if (typed) continue;
    Result<std::vector<std::string>> words = FlagOf(path, name, node);
    if (!words.ok()) return words.status();
    all.insert(all.end(), words->begin(), words->end());
  }
  return all;
}

}  // namespace weft::apps
