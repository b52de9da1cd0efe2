// SPDX-License-Identifier: Apache-2.0
#include "apps/data/synthetic_dataset.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/rng.h"

namespace weft::apps {
namespace {

constexpr uint64_t kPatternSeed = 0x7765667470617474u;
constexpr uint64_t kTrainSeed = 0x7765667474726169u;
constexpr uint64_t kTestSeed = 0x7765667474657374u;

constexpr int kCells = 4;  // a pattern is 4 x 4 grey cells per channel
constexpr int kDarkest = 64;
constexpr int kBrightest = 191;
constexpr int kNoise = 48;  // either way, so no pixel leaves its byte
static_assert(kDarkest - kNoise >= 0 && kBrightest + kNoise <= 255);

struct Description {
  int channels = 0;
  int height = 0;
  int width = 0;
  int classes = 0;
  int64_t size = 1024;
};

// Takes a whole number of [1, most] and the character after it off the front of `text`.
std::optional<int64_t> TakeNumber(std::string_view& text, char after, int64_t most) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1 || number > most) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.empty() && text[0] != after) return std::nullopt;
  if (!text.empty()) text.remove_prefix(1);
  return number;
}

std::optional<Description> Parse(std::string_view text) {
  const bool has_size = std::count(text.begin(), text.end(), ':') == 2;
  const auto channels = TakeNumber(text, 'x', 64);
  const auto height = TakeNumber(text, 'x', 4096);
  const auto width = TakeNumber(text, ':', 4096);
  const auto classes = TakeNumber(text, ':', 100'000);
  const auto size = has_size ? TakeNumber(text, '\0', INT32_MAX) : Description().size;
  if (!channels || !height || !width || !classes || !size || !text.empty()) return std::nullopt;
  return Description{static_cast<int>(*channels), static_cast<int>(*height),
                     static_cast<int>(*width), static_cast<int>(*classes), *size};
}

class SyntheticDataset final : public train::Dataset {
 public:
  SyntheticDataset(Facts facts, const Description& description, uint64_t seed)
      : Dataset(std::move(facts)), description_(description), seed_(seed) {
    Rng rng(kPatternSeed);
    patterns_.resize(static_cast<size_t>(description.classes) * description.channels * kCells *
                     kCells);
    for (uint8_t& cell : patterns_) {
      cell = static_cast<uint8_t>(rng.Between(kDarkest, kBrightest));
    }
  }

  Result<int> Read(int64_t index, train::Image& image) const override {
    const auto& [channels, height, width, classes, size] = description_;
    const int label = static_cast<int>(index % classes);
    image.Reshape(channels, height, width);
    Rng rng(seed_, static_cast<uint64_t>(index));
    uint8_t* pixel = image.pixels.data();
    for (int c = 0; c < channels; ++c) {
      const uint8_t* cells =
          &patterns_[(static_cast<size_t>(label) * channels + c) * kCells * kCells];
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
          const int cell = cells[y * kCells / height * kCells + x * kCells / width];
          *pixel++ = static_cast<uint8_t>(cell + rng.Between(-kNoise, kNoise));
        }
      }
    }
    return label;
  }

 private:
  const Description description_;
  const uint64_t seed_;
  std::vector<uint8_t> patterns_;  // [classes][channels][kCells][kCells]
};

}  // namespace

Result<std::unique_ptr<train::Dataset>> OpenSynthetic(const std::string& description, Split split) {
  const std::optional<Description> parsed = Parse(description);
  if (!parsed) {
    return Status::InvalidInput("'" + description +
                                "' describes no synthetic set; give CxHxW:CLASSES or "
                                "CxHxW:CLASSES:SIZE, such as 3x32x32:10:5000");
  }
  train::Dataset::Facts facts;
  facts.name = "synthetic:" + description + (split == Split::kTrain ? " (train)" : " (test)");
  facts.image_shape = {parsed->channels, parsed->height, parsed->width};
  facts.classes = parsed->classes;
  facts.size = parsed->size;
  // Cells of 64 to 191 with noise of -48 to 48, both even: 127.5 / 255 and 46.4 / 255.
  const auto channels = static_cast<size_t>(parsed->channels);
  facts.normalisation = {std::vector<float>(channels, .5f), std::vector<float>(channels, .182f)};
  return std::unique_ptr<train::Dataset>(std::make_unique<SyntheticDataset>(
      std::move(facts), *parsed, split == Split::kTrain ? kTrainSeed : kTestSeed));
}

}  // namespace weft::apps
