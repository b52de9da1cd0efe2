// SPDX-License-Identifier: Apache-2.0
#include "apps/board/profiles.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cassert>
#include <sstream>

#include "boards/profile_texts.h"
#include "core/byte_size.h"

namespace weft::apps {
namespace {

// Takes keys out of a profile and remembers the first mistake.
class ProfileReader {
 public:
  explicit ProfileReader(std::string_view name) : name_(name) {}

  std::string Text(toml::node_view<const toml::node> node, const std::string& key) {
    const auto value = node.value<std::string>();
    if (!value || value->empty()) Complain("'" + key + "' must be a text");
    return value.value_or("");
  }

  int Number(const toml::node& node, const std::string& key, int64_t most) {
    const auto value = node.value<int64_t>();
    if (value && *value >= 1 && *value <= most) return static_cast<int>(*value);
    Complain("'" + key + "' must be a whole number from 1 to " + std::to_string(most));
    return 1;
  }

  // Empty where there is no such key.
  std::vector<std::string> Texts(toml::node_view<const toml::node> node, const std::string& key) {
    std::vector<std::string> texts;
    if (!node) return texts;
    if (!node.is_array()) Complain("'" + key + "' must be a list");
    if (const toml::array* array = node.as_array()) {
      for (const toml::node& one : *array) {
        texts.push_back(Text(toml::node_view<const toml::node>(one), key));
      }
    }
    return texts;
  }

  void Complain(const std::string& sentence) {
    if (status_.ok()) status_ = Status::InvalidInput("board " + name_ + ": " + sentence);
  }
  const Status& status() const { return status_; }

 private:
  const std::string name_;
  Status status_;
};

}  // namespace

Result<boards::Profile> ParseProfile(std::string_view name, std::string_view toml) {
  ProfileReader read(name);
  toml::table table;
  try {
    table = toml::parse(toml);
  } catch (const toml::parse_error& error) {
    std::ostringstream sentence;
    sentence << error.description() << " in line " << error.source().begin.line;
    read.Complain(sentence.str());
    return read.status();
  }
  const auto at = [&](const char* path) {
    return toml::node_view<const toml::node>(std::as_const(table).at_path(path));
  };
  boards::Profile profile{
      .name = std::string(name),
      .description = read.Text(at("description"), "description"),
      .preset = read.Text(at("preset"), "preset"),
      .backends = read.Texts(at("backends"), "backends"),
      .compatible = read.Texts(at("recognise.compatible"), "compatible"),
      .models = read.Texts(at("recognise.model"), "model"),
      .cpus = read.Texts(at("recognise.cpu"), "cpu"),
      .architectures = read.Texts(at("recognise.architecture"), "architecture")};
  const std::string use = read.Text(at("cores.use"), "cores.use");
  if (use != "all" && use != "one-per-core") {
    read.Complain("'cores.use' is neither all nor one-per-core");
  }
  profile.use = use == "all" ? boards::CoreUse::kAll : boards::CoreUse::kOnePerCore;
  if (const toml::array* counts = at("cores.count").as_array()) {
    for (const toml::node& one : *counts) {
      profile.core_counts.push_back(read.Number(one, "cores.count", 4096));
    }
  }
  for (const std::string& text : read.Texts(at("memory.sizes"), "memory.sizes")) {
    const Result<int64_t> bytes = ParseByteCount(text);
    if (!bytes.ok()) read.Complain(bytes.status().message());
    if (bytes.ok()) profile.memory_sizes.push_back(*bytes);
  }
  if (!std::is_sorted(profile.memory_sizes.begin(), profile.memory_sizes.end())) {
    read.Complain("'memory.sizes' must ascend");
  }
  if (const toml::node* percent = at("memory.budget_percent").node()) {
    profile.budget_percent =
        read.Number(*percent, "memory.budget_percent", boards::kMostBudgetPercent);
  } else {
    read.Complain("'memory.budget_percent' is missing");
  }
  if (const toml::table* batches = at("batch").as_table()) {
    for (const auto& [model, node] : *batches) {
      const std::string key(model.str());
      profile.batch[key] = read.Number(node, "batch." + key, 65536);
    }
  }
  if (!read.status().ok()) return read.status();
  return profile;
}

const std::vector<boards::Profile>& Profiles() {
  static const std::vector<boards::Profile> kProfiles = [] {
    std::vector<boards::Profile> profiles;
    for (const boards::ProfileText& text : boards::ProfileTexts()) {
      Result<boards::Profile> profile = ParseProfile(text.name, text.toml);
      assert(profile.ok() && "a profile that this program was built with is broken");
      profiles.push_back(std::move(profile).value());
    }
    return profiles;
  }();
  return kProfiles;
}

}  // namespace weft::apps
