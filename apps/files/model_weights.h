// SPDX-License-Identifier: Apache-2.0
// A model's tensors from and to a safetensors file, under PyTorch's names: published weights can be
// trained further here, and what was trained here fits load_state_dict(strict=True) there.
#pragma once

#include <string>
#include <vector>

#include "apps/files/replace_file.h"
#include "apps/files/safetensors.h"
#include "core/model/graph.h"
#include "core/status.h"
#include "core/train/parameters.h"

namespace weft::apps {

// How the tensors of a file and of a model go together. Entries point into the file.
struct WeightsMatch {
  std::vector<const SafetensorsEntry*> entries;  // for each of graph.tensors(); null: not loaded

  // What keeps the file from being used, as lists of names, the last with both shapes.
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
  std::vector<std::string> mismatching;

  // What is worth telling: classifier tensors that stay as they are because the file has other
  // classes, and the auxiliary heads of torchvision's GoogLeNet, which the model here is without.
  std::vector<std::string> kept;
  std::vector<std::string> ignored;
};

// With `new_head`, classifier tensors (those of the last weighted layer) that differ in the number
// of classes are kept rather than mismatching. Batch counters may be missing: files from before
// PyTorch had them count from 0.
WeightsMatch MatchWeights(const SafetensorsFile& file, const model::Graph& graph, bool new_head);

// Ok, or InvalidInput with one sentence on all that does not fit, a few names of each kind.
Status CheckMatch(const WeightsMatch& match, const SafetensorsFile& file,
                  const model::Graph& graph);

// Opens, matches, and fills `parameters`. The match is returned for its lists; its entries are gone
// with the file. Nothing is changed unless the file fits; if the disk fails on the way, some
// tensors are old and some new.
Result<WeightsMatch> LoadWeights(const std::string& path, bool new_head,
                                 train::Parameters& parameters);

// Writes all tensors in state_dict order, running statistics and counters among them.
Status SaveWeights(const std::string& path, train::Parameters& parameters, FileCalls& calls);

}  // namespace weft::apps
