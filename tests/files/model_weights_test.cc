// SPDX-License-Identifier: Apache-2.0
#include "apps/files/model_weights.h"

#include <algorithm>
#include <utility>

#include "core/model/zoo.h"
#include "core/train/initialise.h"
#include "tests/files/scratch_folder.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

model::Graph Build(const char* name, int classes = 0) {
  return model::BuildModel(name, {.classes = classes}).value();
}

// Random values everywhere, counters too.
void Fill(train::Parameters& parameters, uint64_t seed) {
  Serial serial;
  train::Initialise(parameters, seed, serial);
  float value = 0;
  for (float& statistic : parameters.statistics()) statistic = value += 0.5f;
  for (int64_t& counter : parameters.counters()) counter = static_cast<int64_t>(value += 1);
}

bool SameTensor(const train::Parameters& a, const train::Parameters& b, const std::string& name) {
  const std::span<const model::TensorSpec> tensors = a.graph().tensors();
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name != name) continue;
    const auto id = static_cast<model::TensorId>(i);
    return std::ranges::equal(a.Tensor(id), b.Tensor(id));
  }
  return false;
}

// A file with the tensors of `graph`, all zero, without those whose name begins with `without`,
// and with the extra ones named.
void WriteZeros(const std::string& path, const model::Graph& graph,
                const std::vector<std::string>& without, const std::vector<std::string>& with) {
  static const std::vector<float> kZeros(10'000'000);
  static const int64_t kCounter = 0;
  std::vector<TensorToWrite> tensors;
  for (const model::TensorSpec& tensor : graph.tensors()) {
    const auto skipped = [&](const std::string& start) { return tensor.name.starts_with(start); };
    if (std::any_of(without.begin(), without.end(), skipped)) continue;
    const auto count = static_cast<size_t>(tensor.shape.elements());
    TensorToWrite& out = tensors.emplace_back(TensorToWrite{tensor.name, tensor.shape, {}});
    out.values = std::span(kZeros).first(count);
    if (tensor.role == model::TensorRole::kBatchCounter) out.values = std::span(&kCounter, 1);
  }
  for (const std::string& name : with) {
    tensors.push_back({name, {1}, std::span(kZeros).first(1)});
  }
  FileCalls calls;
  CHECK(WriteSafetensors(path, tensors, {}, calls).ok());
}

std::string Refusal(const std::string& path, bool new_head, train::Parameters& parameters) {
  const std::vector<float> before(parameters.values().begin(), parameters.values().end());
  const Result<WeightsMatch> match = LoadWeights(path, new_head, parameters);
  CHECK_FALSE(match.ok());
  CHECK(match.status().code() == StatusCode::kInvalidInput);
  CHECK(std::ranges::equal(before, parameters.values()));
  return match.status().message();
}

}  // namespace

TEST_GROUP(ModelWeights) {
  ScratchFolder scratch;
  std::string path = scratch.Path("weights.safetensors");
  FileCalls calls;
};

TEST(ModelWeights, ComeBackAsTheyWereSaved) {
  const model::Graph graph = Build("mobilenet_v2", 10);
  train::Parameters saved(graph);
  Fill(saved, 1);
  CHECK(SaveWeights(path, saved, calls).ok());
  train::Parameters loaded(graph);
  Fill(loaded, 2);
  const WeightsMatch match = LoadWeights(path, false, loaded).value();
  CHECK(match.kept.empty() && match.ignored.empty());
  CHECK(std::ranges::equal(saved.values(), loaded.values()));
  CHECK(std::ranges::equal(saved.statistics(), loaded.statistics()));
  CHECK(std::ranges::equal(saved.counters(), loaded.counters()));
}

TEST(ModelWeights, AreListedInTheOrderOfTheStateDict) {
  const model::Graph graph = Build("mobilenet_v2", 10);
  train::Parameters parameters(graph);
  CHECK(SaveWeights(path, parameters, calls).ok());
  const std::string content = ReadAll(path);
  size_t at = 0;
  for (const model::TensorSpec& tensor : graph.tensors()) {
    const size_t next = content.find("\"" + tensor.name + "\":{\"dtype\"", at);
    CHECK_TEXT(next != std::string::npos, tensor.name.c_str());
    at = next;
  }
}

TEST(ModelWeights, OfAnotherDepthAreRefusedWithTheirNames) {
  WriteZeros(path, Build("resnet34"), {}, {});
  const model::Graph resnet18 = Build("resnet18");
  train::Parameters parameters(resnet18);
  const std::string more = Refusal(path, false, parameters);
  STRCMP_CONTAINS((path + " does not fit resnet18: unexpected: \"layer").c_str(), more.c_str());
  STRCMP_CONTAINS(" and 93 more", more.c_str());

  WriteZeros(path, resnet18, {}, {});
  const model::Graph resnet34 = Build("resnet34");
  train::Parameters deeper(resnet34);
  const std::string fewer = Refusal(path, false, deeper);
  STRCMP_CONTAINS("does not fit resnet34: missing: layer1.2.conv1.weight, ", fewer.c_str());
}

TEST(ModelWeights, SayWhatIsMissingUnexpectedAndOfAnotherShape) {
  WriteZeros(path, Build("lenet5", 7), {"conv1.bias"}, {"extra"});
  const model::Graph graph = Build("lenet5");
  train::Parameters parameters(graph);
  const std::string expected =
      path +
      " does not fit lenet5: missing: conv1.bias; unexpected: \"extra\"; of another shape or "
      "type: fc3.weight (F32 [7, 84] in the file, [10, 84] in the model), fc3.bias (F32 [7] in the "
      "file, [10] in the model)";
  STRCMP_EQUAL(expected.c_str(), Refusal(path, false, parameters).c_str());
}

TEST(ModelWeights, KeepTheClassifierIfANewHeadIsWanted) {
  const model::Graph published = Build("squeezenet1_1", 1000);
  train::Parameters source(published);
  Fill(source, 1);
  CHECK(SaveWeights(path, source, calls).ok());
  const model::Graph graph = Build("squeezenet1_1", 10);
  train::Parameters parameters(graph);
  Fill(parameters, 2);
  train::Parameters before(graph);
  Fill(before, 2);
  const WeightsMatch match = LoadWeights(path, true, parameters).value();
  LONGS_EQUAL(2, match.kept.size());
  STRCMP_EQUAL(
      "classifier.1.weight (F32 [1000, 512, 1, 1] in the file, [10, 512, 1, 1] in the "
      "model)",
      match.kept[0].c_str());
  CHECK(SameTensor(before, parameters, "classifier.1.weight"));
  CHECK_FALSE(SameTensor(before, parameters, "features.0.weight"));
}

TEST(ModelWeights, TakeTheClassifierOfTheSameClassesEvenIfANewHeadIsWanted) {
  const model::Graph graph = Build("lenet5");
  train::Parameters saved(graph);
  Fill(saved, 1);
  CHECK(SaveWeights(path, saved, calls).ok());
  train::Parameters loaded(graph);
  CHECK(LoadWeights(path, true, loaded)->kept.empty());
  CHECK(std::ranges::equal(saved.values(), loaded.values()));
}

TEST(ModelWeights, ANewHeadExcusesNothingElse) {
  // Other channels in the first layer, and a classifier that differs in its inputs.
  const model::Graph small = model::BuildModel("lenet5", {.input = {3, 20, 20}}).value();
  WriteZeros(path, small, {}, {});
  const model::Graph graph = Build("lenet5", 7);
  train::Parameters parameters(graph);
  const std::string refusal = Refusal(path, true, parameters);
  STRCMP_CONTAINS("conv1.weight (F32 [6, 3, 5, 5] in the file, [6, 1, 5, 5] in the model)",
                  refusal.c_str());
  STRCMP_CONTAINS("fc1.weight", refusal.c_str());
  CHECK(refusal.find("fc3") == std::string::npos);
}

TEST(ModelWeights, ANewHeadIsAboutTheLastLayersClassesOnly) {
  const model::Graph graph = Build("lenet5");
  // Both have the shape [1] in the file: a bias of another layer, and a weight of another rank.
  WriteZeros(path, graph, {"conv1.bias", "fc3.weight"}, {"conv1.bias", "fc3.weight"});
  train::Parameters parameters(graph);
  STRCMP_CONTAINS(
      "of another shape or type: conv1.bias (F32 [1] in the file, [6] in the model), fc3.weight "
      "(F32 [1] in the file, [10, 84] in the model)",
      Refusal(path, true, parameters).c_str());
}

TEST(ModelWeights, MayLackBatchCounters) {
  const model::Graph graph = Build("mobilenet_v2", 10);
  WriteZeros(path, graph, {"features.0.1.num_batches_tracked"}, {});
  train::Parameters loaded(graph);
  Fill(loaded, 1);
  CHECK(LoadWeights(path, false, loaded).ok());
  for (const int64_t counter : loaded.counters()) LONGLONGS_EQUAL(0, counter);
}

TEST(ModelWeights, OfGooglenetMayHaveItsAuxiliaryHeads) {
  const std::vector<std::string> heads = {"aux1.conv.conv.weight", "aux2.fc2.bias"};
  const model::Graph googlenet = Build("googlenet");
  WriteZeros(path, googlenet, {}, heads);
  train::Parameters parameters(googlenet);
  LONGS_EQUAL(2, LoadWeights(path, false, parameters)->ignored.size());

  const model::Graph lenet5 = Build("lenet5");
  WriteZeros(path, lenet5, {}, heads);
  train::Parameters other(lenet5);
  STRCMP_CONTAINS("unexpected: \"aux1", Refusal(path, false, other).c_str());
}

TEST(ModelWeights, AreNotTakenFromWholeNumbers) {
  const model::Graph graph = Build("mobilenet_v2", 10);
  WriteZeros(path, graph, {"features.0.1.num_batches_tracked"},
             {"features.0.1.num_batches_tracked"});
  train::Parameters parameters(graph);
  STRCMP_CONTAINS("features.0.1.num_batches_tracked (F32 [1] in the file, [] in the model)",
                  Refusal(path, false, parameters).c_str());
}

}  // namespace weft::apps
