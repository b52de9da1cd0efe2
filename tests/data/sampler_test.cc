// SPDX-License-Identifier: Apache-2.0
#include "core/train/sampler.h"

#include <algorithm>
#include <vector>

#include <CppUTest/TestHarness.h>

namespace weft::train {
namespace {

std::vector<int32_t> BatchOf(Sampler& sampler, EpochStep at) {
  const auto batch = sampler.Batch(at);
  return {batch.begin(), batch.end()};
}

std::vector<int32_t> EpochOf(Sampler& sampler, int64_t epoch) {
  std::vector<int32_t> seen;
  for (int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
    for (const int32_t sample : sampler.Batch({epoch, step})) seen.push_back(sample);
  }
  return seen;
}

std::vector<int32_t> Sorted(std::vector<int32_t> values) {
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<int32_t> FirstNumbers(int32_t count) {
  std::vector<int32_t> numbers;
  for (int32_t i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

void CheckRefused(const SamplerSetting& setting, const char* expected) {
  const Result<Sampler> sampler = Sampler::Create(setting);
  CHECK_FALSE(sampler.ok());
  STRCMP_CONTAINS(expected, sampler.status().message().c_str());
}

}  // namespace

TEST_GROUP(Sampler){};

// The numbers are from a second implementation of the shuffle, written in Python.
TEST(Sampler, ShufflesAlikeOnEveryMachine) {
  Sampler sampler = Sampler::Create({.samples = 10, .batch = 5, .seed = 7}).value();
  CHECK(EpochOf(sampler, 0) == std::vector<int32_t>({6, 5, 2, 8, 9, 3, 7, 4, 1, 0}));
  CHECK(EpochOf(sampler, 1) == std::vector<int32_t>({4, 0, 5, 9, 2, 7, 1, 8, 3, 6}));
}

TEST(Sampler, AnyStepCanBeAskedForInAnyOrder) {
  const SamplerSetting setting = {.samples = 103, .batch = 5, .seed = 3};
  Sampler forward = Sampler::Create(setting).value();
  Sampler backward = Sampler::Create(setting).value();
  std::vector<std::vector<int32_t>> batches;
  for (EpochStep at; at.epoch < 3; at = forward.After(at)) batches.push_back(BatchOf(forward, at));
  LONGS_EQUAL(3 * 20, batches.size());
  for (int64_t i = static_cast<int64_t>(batches.size()) - 1; i >= 0; --i) {
    CHECK(batches[i] == BatchOf(backward, {i / 20, i % 20}));
  }
}

TEST(Sampler, TakesSamplesInOrderWithoutShuffle) {
  Sampler sampler = Sampler::Create({.samples = 6, .batch = 2, .shuffle = false}).value();
  CHECK(FirstNumbers(6) == EpochOf(sampler, 0));
  CHECK(FirstNumbers(6) == EpochOf(sampler, 1));
}

TEST(Sampler, WorkersShareAnEpochWithoutOverlap) {
  for (const int workers : {1, 2, 3, 7}) {
    std::vector<int32_t> seen;
    for (int worker = 0; worker < workers; ++worker) {
      Sampler sampler =
          Sampler::Create(
              {.samples = 100, .batch = 4, .worker = worker, .workers = workers, .seed = 5})
              .value();
      LONGS_EQUAL(100 / (4 * workers), sampler.steps_per_epoch());
      for (const int32_t sample : EpochOf(sampler, 2)) seen.push_back(sample);
    }
    seen = Sorted(seen);
    CHECK_TRUE(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
    LONGS_EQUAL(100 / (4 * workers) * 4 * workers, seen.size());
  }
}

TEST(Sampler, WorkersTogetherMakeTheStepOfOneWithTheirWholeBatch) {
  Sampler one = Sampler::Create({.samples = 64, .batch = 12, .seed = 9}).value();
  for (int64_t step = 0; step < one.steps_per_epoch(); ++step) {
    std::vector<int32_t> together;
    for (int worker = 0; worker < 3; ++worker) {
      Sampler sampler =
          Sampler::Create({.samples = 64, .batch = 4, .worker = worker, .workers = 3, .seed = 9})
              .value();
      for (const int32_t sample : sampler.Batch({1, step})) together.push_back(sample);
    }
    CHECK(BatchOf(one, {1, step}) == together);
  }
}

TEST(Sampler, KeepsTheRestSoThatEverySampleIsSeenOnce) {
  for (int samples = 1; samples < 40; ++samples) {
    for (int workers = 1; workers <= 3; ++workers) {
      std::vector<int32_t> seen;
      for (int worker = 0; worker < workers; ++worker) {
        Result<Sampler> sampler = Sampler::Create({.samples = samples,
                                                   .batch = 4,
                                                   .worker = worker,
                                                   .workers = workers,
                                                   .keep_rest = true});
        if (!sampler.ok()) continue;  // fewer batches than workers
        for (const int32_t sample : EpochOf(*sampler, 0)) seen.push_back(sample);
      }
      CHECK(FirstNumbers(samples) == Sorted(seen));
    }
  }
}

TEST(Sampler, TheEndOfAnEpochIsTheBeginningOfTheNext) {
  const Sampler sampler = Sampler::Create({.samples = 9, .batch = 3}).value();
  CHECK(EpochStep({4, 2}) == sampler.After({4, 1}));
  CHECK(EpochStep({5, 0}) == sampler.After({4, 2}));
  CHECK(EpochStep({5, 0}) == sampler.Settle({4, 3}));
}

TEST(Sampler, RefusesWhatLeavesNothingToDo) {
  CheckRefused({.samples = 0, .batch = 1}, "a set of 0 samples");
  CheckRefused({.samples = int64_t{1} << 31, .batch = 1}, "a set of 2147483648 samples");
  CheckRefused({.samples = 5, .batch = 0}, "a batch of 0");
  CheckRefused({.samples = 5, .batch = INT64_MAX}, "a batch of 9223372036854775807");
  CheckRefused({.samples = 5, .batch = 6}, "5 samples leave worker 0 of 1 without a batch of 6");
  CheckRefused({.samples = 5, .batch = 1, .worker = 2, .workers = 2}, "no worker 2 of 2");
  CheckRefused({.samples = 5, .batch = 1, .worker = -1}, "no worker -1");
  CheckRefused({.samples = 5, .batch = 1, .workers = 0}, "no worker 0 of 0");
  CheckRefused({.samples = 5, .batch = 3, .workers = 2}, "leave worker 0 of 2 without a batch");
  CheckRefused({.samples = 6, .batch = 3, .worker = 2, .workers = 3, .keep_rest = true},
               "leave worker 2 of 3 without a batch of 3");
}

}  // namespace weft::train
