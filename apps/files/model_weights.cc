// SPDX-License-Identifier: Apache-2.0
#include "apps/files/model_weights.h"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace weft::apps {
namespace {

using model::TensorId;
using model::TensorRole;
using model::TensorSpec;

// The tensors of the layer that tells the classes apart.
std::set<std::string_view> ClassifierTensors(const model::Graph& graph) {
  std::set<std::string_view> names;
  for (const model::Node& node : graph.nodes()) {
    if (!model::IsWeighted(node.layer)) continue;
    names.clear();
    for (const TensorSpec& tensor : graph.TensorsOf(node)) names.insert(tensor.name);
  }
  return names;
}

// Whether the shapes agree in all axes from `first_axis` on.
bool SameShape(const SafetensorsEntry& entry, const Shape& shape, size_t first_axis) {
  if (entry.shape.size() != static_cast<size_t>(shape.rank())) return false;
  for (size_t axis = first_axis; axis < entry.shape.size(); ++axis) {
    if (entry.shape[axis] != shape[static_cast<int>(axis)]) return false;
  }
  return true;
}

bool DtypeFits(const SafetensorsEntry& entry, TensorRole role) {
  if (role == TensorRole::kBatchCounter) return entry.dtype == "I64";
  return entry.dtype == "F32" || entry.dtype == "F16" || entry.dtype == "BF16" ||
         entry.dtype == "F64";
}

// "fc.weight (F32 [1000, 512] in the file, [10, 512] in the model)"
std::string BothShapes(const SafetensorsEntry& entry, const TensorSpec& tensor) {
  return tensor.name + " (" + entry.dtype + " " + entry.ShapeText() + " in the file, " +
         tensor.shape.ToString() + " in the model)";
}

bool IsAuxiliaryHead(const model::Graph& graph, std::string_view name) {
  return graph.name() == "googlenet" && (name.starts_with("aux1.") || name.starts_with("aux2."));
}

// "missing: a, b, c and 4 more"; nothing for an empty list.
void AddList(const char* what, const std::vector<std::string>& names, std::string& sentence) {
  constexpr size_t kShown = 3;
  if (names.empty()) return;
  sentence += (sentence.empty() ? "" : "; ") + std::string(what) + ": ";
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    sentence += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kShown) sentence += " and " + std::to_string(names.size() - kShown) + " more";
}

}  // namespace

WeightsMatch MatchWeights(const SafetensorsFile& file, const model::Graph& graph, bool new_head) {
  WeightsMatch match;
  const std::set<std::string_view> classifier = ClassifierTensors(graph);
  std::set<std::string_view> known;
  for (const TensorSpec& tensor : graph.tensors()) {
    known.insert(tensor.name);
    const SafetensorsEntry* entry = file.Find(tensor.name);
    const SafetensorsEntry*& place = match.entries.emplace_back(nullptr);
    if (entry == nullptr) {
      if (tensor.role != TensorRole::kBatchCounter) match.missing.push_back(tensor.name);
    } else if (DtypeFits(*entry, tensor.role) && SameShape(*entry, tensor.shape, 0)) {
      place = entry;
    } else if (new_head && DtypeFits(*entry, tensor.role) && classifier.contains(tensor.name) &&
               SameShape(*entry, tensor.shape, 1)) {
      match.kept.push_back(BothShapes(*entry, tensor));
    } else {
      match.mismatching.push_back(BothShapes(*entry, tensor));
    }
  }
  for (const SafetensorsEntry& entry : file.entries()) {
    if (known.contains(entry.name)) continue;
    const bool auxiliary = IsAuxiliaryHead(graph, entry.name);
    (auxiliary ? match.ignored : match.unexpected).push_back(QuotedName(entry.name));
  }
  return match;
}

Status CheckMatch(const WeightsMatch& match, const SafetensorsFile& file,
                  const model::Graph& graph) {
  std::string sentence;
  AddList("missing", match.missing, sentence);
  AddList("unexpected", match.unexpected, sentence);
  AddList("of another shape or type", match.mismatching, sentence);
  if (sentence.empty()) return Status::Ok();
  return Status::InvalidInput(file.path() + " does not fit " + graph.name() + ": " + sentence);
}

Result<WeightsMatch> LoadWeights(const std::string& path, bool new_head,
                                 train::Parameters& parameters) {
  const model::Graph& graph = parameters.graph();
  Result<SafetensorsFile> file = SafetensorsFile::Open(path);
  if (!file.ok()) return file.status();
  WeightsMatch match = MatchWeights(*file, graph, new_head);
  if (Status status = CheckMatch(match, *file, graph); !status.ok()) return status;
  for (size_t i = 0; i < match.entries.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    const SafetensorsEntry* entry = match.entries[i];
    Status status;
    if (graph.tensors()[i].role == TensorRole::kBatchCounter) {
      int64_t& counter = parameters.Counter(id);
      counter = 0;
      if (entry != nullptr) status = file->Read(*entry, std::span(&counter, 1));
    } else if (entry != nullptr) {
      status = file->Read(*entry, parameters.Tensor(id));
    }
    if (!status.ok()) return status;
  }
  std::fill(match.entries.begin(), match.entries.end(), nullptr);
  return match;
}

Status SaveWeights(const std::string& path, train::Parameters& parameters, FileCalls& calls) {
  const std::span<const TensorSpec> tensors = parameters.graph().tensors();
  std::vector<TensorToWrite> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    TensorToWrite& tensor = out.emplace_back(TensorToWrite{tensors[i].name, tensors[i].shape, {}});
    if (tensors[i].role == TensorRole::kBatchCounter) {
      tensor.values = std::span<const int64_t>(&parameters.Counter(id), 1);
    } else {
      tensor.values = std::span<const float>(parameters.Tensor(id));
    }
  }
  return WriteSafetensors(path, out, {{"format", "pt"}, {"model", parameters.graph().name()}},
                          calls);
}

}  // namespace weft::apps
