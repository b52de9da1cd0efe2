// SPDX-License-Identifier: Apache-2.0
#include "boards/recognise.h"

#include <algorithm>
#include <cassert>

namespace weft::boards {
namespace {

bool Has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool HasPartOf(const std::vector<std::string>& parts, const std::string& text) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return text.find(part) != std::string::npos; });
}

}  // namespace

Recognised Recognise(const Facts& facts, std::span<const Profile> profiles) {
  assert(!profiles.empty());
  for (const std::string& word : facts.compatible) {
    for (const Profile& profile : profiles) {
      if (Has(profile.compatible, word)) return {&profile, "device tree: " + word};
    }
  }
  for (const Profile& profile : profiles) {
    if (HasPartOf(profile.models, facts.model)) return {&profile, "model: " + facts.model};
  }
  for (const Profile& profile : profiles) {
    if (HasPartOf(profile.cpus, facts.cpu)) return {&profile, "processor: " + facts.cpu};
  }
  for (const Profile& profile : profiles) {
    if (Has(profile.architectures, facts.architecture)) {
      return {&profile, "architecture: " + facts.architecture};
    }
  }
  return {&profiles.front(), "nothing known"};
}

Share ShareOf(const Profile& profile, const Facts& facts) {
  Share share{.cpus = profile.use == CoreUse::kAll ? facts.cpus : facts.one_per_core,
              .memory_bytes = facts.memory_to_share()};
  if (!profile.memory_sizes.empty()) {
    const int64_t most = profile.memory_sizes.back();
    share.memory_bytes = share.memory_bytes > 0 ? std::min(share.memory_bytes, most) : most;
  }
  share.budget_bytes = share.memory_bytes / 100 * profile.budget_percent;
  // A 32-bit program reaches 3 GiB, its code and holes included.
  constexpr int64_t kMostIn32Bits = int64_t{2} << 30;
  if (facts.architecture == "armv7")
    share.budget_bytes = std::min(share.budget_bytes, kMostIn32Bits);
  return share;
}

}  // namespace weft::boards
