// SPDX-License-Identifier: Apache-2.0
#include "apps/data/open_dataset.h"

#include "apps/data/cifar_dataset.h"
#include "apps/data/folder_dataset.h"
#include "apps/data/idx_dataset.h"
#include "apps/data/synthetic_dataset.h"

namespace weft::apps {

Result<std::unique_ptr<train::Dataset>> OpenDataset(const std::string& spec, Split split) {
  const size_t colon = spec.find(':');
  const std::string kind = spec.substr(0, colon);
  const std::string place = colon == std::string::npos ? "" : spec.substr(colon + 1);
  const IdxKind idx_kinds[] = {
      {.name = "mnist", .classes = 10, .mean = .1307f, .deviation = .3081f},
      {.name = "fashion-mnist",
       .classes = 10,
       .mean = .2860f,
       .deviation = .3530f,
       .variation = train::Variation::kShiftAndFlip},
      {.name = "idx", .mean = .5f, .deviation = .5f},
  };
  if (!place.empty()) {
    for (const IdxKind& idx_kind : idx_kinds) {
      if (kind == idx_kind.name) return OpenIdx(idx_kind, place, split);
    }
    if (kind == "cifar10") return OpenCifar10(place, split);
    if (kind == "cifar100") return OpenCifar100(place, split);
    if (kind == "folder") return OpenFolder(place, split);
    if (kind == "synthetic") return OpenSynthetic(place, split);
  }
  return Status::InvalidInput("'" + spec +
                              "' names no data set; give mnist:DIR, fashion-mnist:DIR, idx:DIR, "
                              "cifar10:DIR, cifar100:DIR, folder:DIR or "
                              "synthetic:CxHxW:CLASSES[:SIZE]");
}

Status CheckFits(const train::Dataset& set, const std::string& spec, int64_t classes,
                 int64_t channels) {
  const int64_t set_channels = set.image_shape()[0];
  if (set.classes() == classes && set_channels == channels) return Status::Ok();
  return Status::InvalidInput("the job trains on " + std::to_string(classes) + " classes and " +
                              std::to_string(channels) + " channels, and " + spec + " has " +
                              std::to_string(set.classes()) + " and " +
                              std::to_string(set_channels));
}

}  // namespace weft::apps
