// SPDX-License-Identifier: Apache-2.0
// Reads a folder of photos with a sub-folder per class. Only names are read when it is opened;
// each file is decoded when its turn comes.
#pragma once

#include <memory>
#include <string>

#include "apps/data/open_dataset.h"

namespace weft::apps {

// DIR/train/CLASS/* and DIR/val/CLASS/* (or test/), or DIR/CLASS/* alone: then one file in ten,
// chosen by a hash of CLASS/NAME, is for testing. Classes are numbered in the order of their names'
// bytes. Files that do not end in .jpg, .jpeg or .png, and hidden ones, are passed over.
Result<std::unique_ptr<train::Dataset>> OpenFolder(const std::string& folder, Split split);

}  // namespace weft::apps
