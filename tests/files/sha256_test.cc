// SPDX-License-Identifier: Apache-2.0
#include "apps/files/sha256.h"

#include <string>

#include "core/hex_text.h"
#include "core/model/zoo.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

std::string HashOf(const std::string& text) {
  Sha256 hash;
  hash.Add(std::as_bytes(std::span(text)));
  return HexText(hash.Finish());
}

}  // namespace

TEST_GROUP(Sha256){};

// FIPS 180-2's own examples.
TEST(Sha256, GivesTheKnownAnswers) {
  STRCMP_EQUAL("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
               HashOf("").c_str());
  STRCMP_EQUAL("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
               HashOf("abc").c_str());
  STRCMP_EQUAL("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
               HashOf(std::string(1'000'000, 'a')).c_str());
}

TEST(Sha256, TakesBytesInAnyPieces) {
  Sha256 hash;
  for (const std::string piece : {"", "a", "bc", ""}) hash.Add(std::as_bytes(std::span(piece)));
  STRCMP_EQUAL(HashOf("abc").c_str(), HexText(hash.Finish()).c_str());
}

TEST(Sha256, OfAModelIsThatOfItsParametersInTheOrderOfTheStateDict) {
  const model::Graph graph = model::BuildModel("resnet18-cifar").value();
  train::Parameters parameters(graph);
  std::string bytes;
  float value = 0;
  for (size_t i = 0; i < graph.tensors().size(); ++i) {
    const auto id = static_cast<model::TensorId>(i);
    for (float& element : parameters.Tensor(id)) element = ++value;
    if (graph.tensors()[i].role != model::TensorRole::kParameter) continue;
    const std::span<const std::byte> tensor = std::as_bytes(parameters.Tensor(id));
    bytes.append(reinterpret_cast<const char*>(tensor.data()), tensor.size());
  }
  STRCMP_EQUAL(HashOf(bytes).c_str(), HexText(ModelHash(parameters)).c_str());
}

TEST(Sha256, OfAModelIgnoresRunningStatistics) {
  const model::Graph graph = model::BuildModel("resnet18-cifar").value();
  train::Parameters parameters(graph);
  const Sha256Digest before = ModelHash(parameters);
  parameters.statistics()[5] = 1;
  parameters.counters()[0] = 1;
  CHECK(before == ModelHash(parameters));
  parameters.values()[5] = 1;
  CHECK(before != ModelHash(parameters));
}

}  // namespace weft::apps
