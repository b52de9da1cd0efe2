// SPDX-License-Identifier: Apache-2.0
#include "apps/weft/demo_data.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "apps/data/open_dataset.h"

namespace weft::apps {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDebianSet = "/usr/share/datasets/fashion-mnist";
constexpr const char* kMadeUp = "synthetic:1x28x28:10:6000";

Result<ChosenData> Facts(const std::string& spec) {
  Result<std::unique_ptr<train::Dataset>> set = OpenDataset(spec, Split::kTest);
  if (!set.ok()) return set.status();
  const Shape& shape = (*set)->image_shape();
  return ChosenData{.spec = spec,
                    .name = spec.substr(0, spec.find(':')),
                    .image = shape[1] > 0 ? shape : Shape{},
                    .classes = (*set)->classes()};
}

// The sets that ./dev data leaves in a folder, in the order of preference.
std::vector<std::string> SetsIn(const fs::path& folder) {
  std::vector<std::string> specs;
  for (const char* kind : {"mnist", "fashion-mnist", "cifar10"}) {
    specs.push_back(std::string(kind) + ":" + (folder / kind).string());
  }
  return specs;
}

}  // namespace

std::string ChosenData::ImageText() const {
  return image.rank() == 0 ? "" : fmt::format("{}x{}x{}", image[0], image[1], image[2]);
}

Result<ChosenData> ChooseData(const std::string& wanted) {
  if (wanted.find(':') != std::string::npos) return Facts(wanted);
  std::vector<std::string> candidates;
  std::error_code ignored;
  if (!wanted.empty()) {
    candidates = SetsIn(wanted);
  } else {
    const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
    for (const fs::path& build : {fs::path("build"), program.parent_path() / ".." / ".."}) {
      const std::vector<std::string> sets = SetsIn((build / "data").lexically_normal());
      candidates.insert(candidates.end(), sets.begin(), sets.end());
    }
    candidates.push_back(std::string("fashion-mnist:") + kDebianSet);
    candidates.emplace_back(kMadeUp);
  }
  for (const std::string& spec : candidates) {
    const std::string path = spec.substr(spec.find(':') + 1);
    if (spec != kMadeUp && !fs::is_directory(path, ignored)) continue;
    return Facts(spec);  // one that is there but damaged is worth a word
  }
  return Status::NotFound("'" + wanted +
                          "' holds no image set; give KIND:PATH (docs/data.md), or a folder that "
                          "./dev data filled");
}

}  // namespace weft::apps
