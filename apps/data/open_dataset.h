// SPDX-License-Identifier: Apache-2.0
// Opens an image set by what a person types: KIND:PATH. docs/data.md has the kinds, the files
// each expects and the normalisation it uses.
#pragma once

#include <memory>
#include <string>

#include "core/status.h"
#include "core/train/dataset.h"

namespace weft::apps {

enum class Split { kTrain, kTest };

// "mnist:DIR", "fashion-mnist:DIR", "idx:DIR", "cifar10:DIR", "cifar100:DIR", "folder:DIR" or
// "synthetic:CxHxW:CLASSES[:SIZE]". Headers, sizes and labels are checked here; a set that cannot
// be used is refused in one sentence that names the file and what to do. Image files of a folder
// are opened only when read, so a damaged one is reported then, and alone.
Result<std::unique_ptr<train::Dataset>> OpenDataset(const std::string& spec, Split split);

// InvalidInput if a model of so many classes and channels cannot learn from `set`, which `spec`
// named. Height and width do not matter: images are resized.
Status CheckFits(const train::Dataset& set, const std::string& spec, int64_t classes,
                 int64_t channels);

}  // namespace weft::apps
