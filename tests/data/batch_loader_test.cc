// SPDX-License-Identifier: Apache-2.0
#include "core/train/batch_loader.h"

#include <atomic>
#include <latch>
#include <set>
#include <stdexcept>

#include <CppUTest/TestHarness.h>

namespace weft::train {
namespace {

Dataset::Facts FactsOf(int64_t size) {
  return {.name = "made up",
          .image_shape = {1, 6, 5},
          .classes = 1000,
          .size = size,
          .normalisation = {{.5f}, {.25f}},
          .variation = Variation::kShiftAndFlip};
}

// Each pixel tells its sample and its place; the label is the sample.
class MadeUp : public Dataset {
 public:
  explicit MadeUp(int64_t size) : Dataset(FactsOf(size)) {}

  Result<int> Read(int64_t index, Image& image) const override {
    image.Reshape(1, 6, 5);
    for (size_t i = 0; i < image.pixels.size(); ++i) {
      image.pixels[i] = static_cast<uint8_t>(1 + (index * 31 + static_cast<int64_t>(i) * 7) % 255);
    }
    return static_cast<int>(index);
  }
};

// Holds back the first sample that is asked for until `others` more have been read.
class FirstComesLast final : public MadeUp {
 public:
  FirstComesLast(int64_t size, int others) : MadeUp(size), others_(others) {}

  Result<int> Read(int64_t index, Image& image) const override {
    if (reads_.fetch_add(1) == 0) {
      gate_.wait();
    } else if (others_.fetch_sub(1) == 1) {
      gate_.count_down();
    }
    return MadeUp::Read(index, image);
  }

 private:
  mutable std::atomic<int> reads_ = 0;
  mutable std::atomic<int> others_;
  mutable std::latch gate_{1};
};

// Reads nothing before Open.
class Gated final : public MadeUp {
 public:
  explicit Gated(int64_t size) : MadeUp(size) {}
  void Open() { gate_.count_down(); }

  Result<int> Read(int64_t index, Image& image) const override {
    gate_.wait();
    return MadeUp::Read(index, image);
  }

 private:
  mutable std::latch gate_{1};
};

class Damaged final : public MadeUp {
 public:
  Damaged(int64_t size, std::set<int64_t> refused, std::set<int64_t> thrown)
      : MadeUp(size), refused_(std::move(refused)), thrown_(std::move(thrown)) {}

  Result<int> Read(int64_t index, Image& image) const override {
    if (refused_.contains(index)) {
      return Status::InvalidInput("file " + std::to_string(index) + " is damaged");
    }
    if (thrown_.contains(index)) throw std::runtime_error("out of something");
    return MadeUp::Read(index, image);
  }

 private:
  const std::set<int64_t> refused_;
  const std::set<int64_t> thrown_;
};

// Never gives anything, and counts how often it was asked.
class Hopeless final : public Dataset {
 public:
  explicit Hopeless(int64_t size) : Dataset(FactsOf(size)) {}
  int64_t reads() const { return reads_; }

  Result<int> Read(int64_t, Image&) const override {
    ++reads_;
    return Status::Unavailable("gone");
  }

 private:
  mutable std::atomic<int64_t> reads_ = 0;
};

std::unique_ptr<BatchLoader> Loader(const Dataset& dataset, const LoaderSetting& setting) {
  return BatchLoader::Create(dataset, setting).value();
}

struct Copy {
  std::vector<float> images;
  std::vector<int> labels;
  EpochStep at;
  friend bool operator==(const Copy&, const Copy&) = default;  // bit by bit: no NaN, no -0 here
};

std::vector<Copy> Take(BatchLoader& loader, int batches) {
  std::vector<Copy> taken;
  for (int i = 0; i < batches; ++i) {
    const Batch batch = loader.Next().value();
    LONGS_EQUAL(batch.count, batch.labels.size());
    taken.push_back({{batch.images.begin(), batch.images.end()},
                     {batch.labels.begin(), batch.labels.end()},
                     batch.at});
  }
  return taken;
}

std::vector<Copy> Take(const Dataset& dataset, const LoaderSetting& setting, int batches) {
  return Take(*Loader(dataset, setting), batches);
}

void CheckRefused(const LoaderSetting& setting, const char* expected) {
  const MadeUp dataset(20);
  const auto loader = BatchLoader::Create(dataset, setting);
  CHECK_FALSE(loader.ok());
  STRCMP_CONTAINS(expected, loader.status().message().c_str());
}

}  // namespace

TEST_GROUP(BatchLoader){};

TEST(BatchLoader, GivesWhatSamplerAndAugmentationSay) {
  const MadeUp dataset(23);
  const SamplerSetting sampling = {.samples = 23, .batch = 4, .seed = 11};
  const std::vector<Copy> taken = Take(dataset, {.sampling = sampling}, 12);
  Sampler sampler = Sampler::Create(sampling).value();
  const Normaliser normaliser(dataset.normalisation());
  Image image;
  EpochStep at;
  for (const Copy& batch : taken) {
    CHECK(at == batch.at);
    const auto samples = sampler.Batch(at);
    for (size_t i = 0; i < samples.size(); ++i) {
      LONGS_EQUAL(samples[i], batch.labels[i]);
      CHECK_TRUE(dataset.Read(samples[i], image).ok());
      Rng rng = ViewRng(11, at.epoch, samples[i]);
      float expected[30];
      Render(image, RandomView(image, Variation::kShiftAndFlip, 6, 5, rng), normaliser, 6, 5,
             expected);
      CHECK_TRUE(std::equal(expected, expected + 30, batch.images.begin() + i * 30));
    }
    at = sampler.After(at);
  }
}

TEST(BatchLoader, GivesTheSameBitsWithAnyNumberOfThreads) {
  const MadeUp dataset(100);
  LoaderSetting setting = {.sampling = {.batch = 19, .seed = 5}};
  const std::vector<Copy> expected = Take(dataset, setting, 40);
  for (const int threads : {2, 3, 8}) {
    setting.threads = threads;
    setting.batches = 1 + threads;
    CHECK(expected == Take(dataset, setting, 40));
  }
}

TEST(BatchLoader, GivesTheSameBitsWhenTheFirstSampleComesLast) {
  const MadeUp swift(100);
  LoaderSetting setting = {.sampling = {.batch = 16, .seed = 5}};
  const std::vector<Copy> expected = Take(swift, setting, 20);
  setting.threads = 2;
  // Eight samples are claimed at a time: while one thread waits on the first of two batches of
  // sixteen, the other can read all but its eight.
  const FirstComesLast slow(100, 24);
  CHECK(expected == Take(slow, setting, 20));
}

TEST(BatchLoader, GoesOnFromAnyPlaceWithTheSameBits) {
  const MadeUp dataset(17);
  LoaderSetting setting = {.sampling = {.batch = 4, .seed = 2}};
  const std::vector<Copy> whole = Take(dataset, setting, 3 * 4);
  for (int first = 0; first < 2 * 4; ++first) {
    setting.start = {first / 4, first % 4};
    const std::vector<Copy> rest = Take(dataset, setting, 4);
    CHECK_TRUE(std::equal(rest.begin(), rest.end(), whole.begin() + first));
  }
  setting.start = {0, 4};  // saved after the last step of an epoch
  CHECK(whole[4] == Take(dataset, setting, 1)[0]);
}

TEST(BatchLoader, WorkersTogetherSeeWhatOneWouldSee) {
  const MadeUp dataset(50);
  const std::vector<Copy> one = Take(dataset, {.sampling = {.batch = 6, .seed = 8}}, 20);
  for (int worker = 0; worker < 2; ++worker) {
    const std::vector<Copy> half =
        Take(dataset, {.sampling = {.batch = 3, .worker = worker, .workers = 2, .seed = 8}}, 20);
    for (size_t i = 0; i < one.size(); ++i) {
      CHECK(one[i].at == half[i].at);
      CHECK_TRUE(std::equal(half[i].labels.begin(), half[i].labels.end(),
                            one[i].labels.begin() + 3 * worker));
      CHECK_TRUE(std::equal(half[i].images.begin(), half[i].images.end(),
                            one[i].images.begin() + 3 * 30 * worker));
    }
  }
}

TEST(BatchLoader, VariesASampleFromEpochToEpoch) {
  const MadeUp dataset(4);
  const std::vector<Copy> taken = Take(dataset, {.sampling = {.batch = 4, .shuffle = false}}, 2);
  CHECK(taken[0].labels == taken[1].labels);
  CHECK_FALSE(taken[0].images == taken[1].images);
}

TEST(BatchLoader, WithoutAugmentationEveryEpochIsAlikeAndTheRestIsKept) {
  const MadeUp dataset(10);
  const std::vector<Copy> taken =
      Take(dataset,
           {.sampling = {.batch = 4, .shuffle = false, .keep_rest = true}, .augment = false}, 6);
  CHECK(std::vector<int>({0, 1, 2, 3}) == taken[0].labels);
  CHECK(std::vector<int>({8, 9}) == taken[2].labels);
  LONGS_EQUAL(2 * 30, taken[2].images.size());
  for (int i = 0; i < 3; ++i) CHECK(taken[i].images == taken[i + 3].images);
  // Sample 9's last pixel, plainly: 1 + (9 * 31 + 29 * 7) % 255.
  DOUBLES_EQUAL((228 / 255.0 - .5) / .25, taken[2].images.back(), 1e-6);
}

TEST(BatchLoader, ResizesToWhatTheNetworkTakes) {
  const MadeUp dataset(4);
  const auto loader = Loader(dataset, {.sampling = {.batch = 2}, .height = 9, .width = 8});
  CHECK(Shape({2, 1, 9, 8}) == loader->batch_shape());
  LONGS_EQUAL(2 * 72, loader->Next().value().images.size());
}

TEST(BatchLoader, TakesAllItsMemoryAtTheBeginning) {
  const MadeUp dataset(64);
  const auto loader = Loader(dataset, {.sampling = {.batch = 4}, .batches = 3});
  const size_t bytes = loader->bytes();
  LONGS_EQUAL(3 * (4 * 30 * 4 + 4 * 4 + 4 * 4), bytes);
  std::set<const float*> places;
  for (int i = 0; i < 50; ++i) {
    const float* place = loader->Next().value().images.data();
    LONGS_EQUAL(0, reinterpret_cast<uintptr_t>(place) % 64);
    places.insert(place);
  }
  LONGS_EQUAL(3, places.size());
  LONGS_EQUAL(bytes, loader->bytes());
}

TEST(BatchLoader, PutsTheNextReadableSampleInTheOnesPlace) {
  const Damaged dataset(10, {3, 4, 9}, {7});
  const auto loader = Loader(dataset, {.sampling = {.batch = 5, .shuffle = false}});
  for (int epoch = 0; epoch < 3; ++epoch) {
    const std::vector<Copy> taken = Take(*loader, 2);
    CHECK(std::vector<int>({0, 1, 2, 5, 5}) == taken[0].labels);
    CHECK(std::vector<int>({5, 6, 8, 8, 0}) == taken[1].labels);
  }
  LONGS_EQUAL(4, loader->problem_count());
  const std::vector<BatchLoader::Problem> problems = loader->problems();
  LONGS_EQUAL(4, problems.size());
  LONGS_EQUAL(3, problems[0].index);
  STRCMP_EQUAL("file 3 is damaged", problems[0].what.c_str());
  LONGS_EQUAL(7, problems[2].index);
  STRCMP_EQUAL("sample 7 of made up: out of something", problems[2].what.c_str());
}

TEST(BatchLoader, ReplacesSamplesTheSameWayWithAnyNumberOfThreads) {
  const Damaged dataset(60, {0, 1, 13, 14, 15, 59}, {30});
  LoaderSetting setting = {.sampling = {.batch = 20, .seed = 4}};
  const std::vector<Copy> expected = Take(dataset, setting, 12);
  setting.threads = 3;
  CHECK(expected == Take(dataset, setting, 12));
}

TEST(BatchLoader, NamesAHundredProblemsAndCountsTheRest) {
  std::set<int64_t> refused;
  for (int64_t i = 1; i < 500; ++i) refused.insert(i);
  const Damaged dataset(500, refused, {});
  const auto loader = Loader(dataset, {.sampling = {.batch = 2, .shuffle = false}});
  Take(*loader, 1);
  LONGS_EQUAL(499, loader->problem_count());
  LONGS_EQUAL(100, loader->problems().size());
}

TEST(BatchLoader, SaysSoWhenNothingCanBeRead) {
  const Damaged dataset(3, {0, 1}, {2});
  const auto loader = Loader(dataset, {.sampling = {.batch = 2}, .threads = 2});
  for (int i = 0; i < 3; ++i) {
    const Result<Batch> batch = loader->Next();
    CHECK_FALSE(batch.ok());
    CHECK_TRUE(batch.status().code() == StatusCode::kUnavailable);
    STRCMP_CONTAINS("not one of the 3 samples of made up can be read; file 0 is damaged",
                    batch.status().message().c_str());
  }
}

TEST(BatchLoader, GivesUpWaitingAtTheTimeoutAndLosesNothing) {
  Gated dataset(8);
  const MadeUp open(8);
  LoaderSetting setting = {.sampling = {.batch = 4}, .timeout_ms = 1};
  const auto loader = Loader(dataset, setting);
  const Result<Batch> none = loader->Next();
  CHECK_FALSE(none.ok());
  CHECK_TRUE(none.status().code() == StatusCode::kUnavailable);
  STRCMP_CONTAINS("made up gave no batch within 1 ms", none.status().message().c_str());
  dataset.Open();
  Result<Batch> batch = loader->Next();
  while (!batch.ok()) batch = loader->Next();
  const Copy expected = Take(open, {.sampling = {.batch = 4}}, 1)[0];
  CHECK_TRUE(std::equal(expected.images.begin(), expected.images.end(), batch->images.begin()));
}

TEST(BatchLoader, StopsAtAnyMoment) {
  const MadeUp dataset(64);
  for (int taken = 0; taken < 30; ++taken) {
    Take(dataset, {.sampling = {.batch = 8}, .threads = 1 + taken % 3}, taken % 10);
  }
}

TEST(BatchLoader, StopsWhileItLooksForAReadableSample) {
  const Hopeless dataset(1'000'000);
  Loader(dataset, {.sampling = {.batch = 8}});
  // Eight samples had been claimed, and for each the whole set would have been tried.
  CHECK_TRUE(dataset.reads() < 8'000'000);
}

TEST(BatchLoader, RefusesSettingsThatCannotWork) {
  CheckRefused({.sampling = {.batch = 21}},
               "made up: 20 samples leave worker 0 of 1 without a batch of 21");
  CheckRefused({.sampling = {.batch = INT32_MAX, .keep_rest = true}, .height = 4096, .width = 4096},
               "2 batches of [2147483647, 1, 4096, 4096] floats do not fit");
  CheckRefused({.sampling = {.batch = 1}, .threads = 0}, "1 to 64 threads");
  CheckRefused({.sampling = {.batch = 1}, .batches = 1}, "2 to 64 batches");
  CheckRefused({.sampling = {.batch = 1}, .height = -1}, "images of -1 x 5 pixels");
  CheckRefused({.sampling = {.batch = 1}, .width = 5000}, "images of 6 x 5000 pixels");
  CheckRefused({.sampling = {.batch = 10}, .start = {0, 3}},
               "made up has 2 steps per epoch with this batch and these workers, so it cannot go "
               "on at epoch 0, step 3");
  CheckRefused({.sampling = {.batch = 10}, .start = {-1, 0}}, "epoch -1");
}

}  // namespace weft::train
