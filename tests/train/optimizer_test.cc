// SPDX-License-Identifier: Apache-2.0
// Steps against torch.optim (golden/write_golden.py), and against themselves cut up differently.
#include "core/train/optimizer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/rng.h"
#include "tests/train/threads.h"

#include <CppUTest/TestHarness.h>

namespace weft::train {
namespace {

struct OptimizerGolden {
  OptimizerSpec spec;
  int64_t steps;
  float parameters[7];
};

const OptimizerGolden kOptimizerGolden[] = {
#include "tests/train/golden/optimizer.inc"
};

constexpr OptimizerSpec kEachKind[] = {
    Sgd{.weight_decay = 1e-4}, Sgd{.momentum = 0.9, .weight_decay = 1e-4},
    Sgd{.momentum = 0.9, .weight_decay = 1e-4, .nesterov = true}, AdamW{}};

// As in write_golden.py.
float FirstParameter(int i) { return static_cast<float>((3 * i) % 7 - 3) / 4 + 0.125f; }
float GradientAt(int i, int64_t step) {
  return static_cast<float>((7 * i + 5 * step) % 11 - 5) / 8;
}

// A model in training: parameters, gradients and state of `count` parameters.
struct Model {
  Model(const OptimizerSpec& spec, int64_t count)
      : optimizer(Optimizer::Create(spec).value()),
        parameters(static_cast<size_t>(count)),
        gradients(static_cast<size_t>(count)),
        state(static_cast<size_t>(count * optimizer.state_per_parameter())) {}

  OptimizerArrays Arrays() { return {parameters, gradients, state}; }

  Optimizer optimizer;
  std::vector<float> parameters;
  std::vector<float> gradients;
  std::vector<float> state;
};

constexpr int64_t kCount = 100003;  // several threads' worth, and no multiple of anything

Model RandomModel(const OptimizerSpec& spec) {
  Model model(spec, kCount);
  Rng rng(11);
  for (float& value : model.parameters) value = static_cast<float>(rng.Fraction() - 0.5);
  return model;
}

void DrawGradients(int64_t step, Model& model) {
  Rng rng(12, static_cast<uint64_t>(step));
  for (float& value : model.gradients) value = static_cast<float>(rng.Fraction() - 0.5);
}

// Three steps; `apply` moves the whole model by one of them.
template <typename Apply>
std::vector<float> Train(const OptimizerSpec& spec, const Apply& apply) {
  Model model = RandomModel(spec);
  for (int64_t step = 1; step <= 3; ++step) {
    DrawGradients(step, model);
    apply(model, OptimizerStep{step, 0.05});
  }
  std::vector<float> all = model.parameters;
  all.insert(all.end(), model.state.begin(), model.state.end());
  return all;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void TrainWhole(Model& model, const OptimizerStep& step) {
  Serial serial;
  model.optimizer.Apply(step, model.Arrays(), 0, kCount, serial);
}

void CheckRefused(const OptimizerSpec& spec, const char* expected) {
  const Result<Optimizer> optimizer = Optimizer::Create(spec);
  CHECK_FALSE(optimizer.ok());
  CHECK_TRUE(optimizer.status().code() == StatusCode::kInvalidInput);
  STRCMP_CONTAINS(expected, optimizer.status().message().c_str());
}

}  // namespace

TEST_GROUP(Optimizer){};

TEST(Optimizer, FollowsTorchStepByStep) {
  Serial serial;
  for (const OptimizerGolden& golden : kOptimizerGolden) {
    Model model(golden.spec, 7);
    for (int i = 0; i < 7; ++i) model.parameters[i] = FirstParameter(i);
    for (int64_t step = 1; step <= golden.steps; ++step) {
      for (int i = 0; i < 7; ++i) model.gradients[i] = GradientAt(i, step);
      const OptimizerStep rate{step, 0.1 / static_cast<double>(step)};
      model.optimizer.Apply(rate, model.Arrays(), 0, 7, serial);
    }
    // Torch fuses multiply-adds where the machine can; an ulp of 1 is 1.2e-7, per step.
    const double tolerance = 1.2e-7 * static_cast<double>(golden.steps);
    for (int i = 0; i < 7; ++i) {
      DOUBLES_EQUAL(golden.parameters[i], model.parameters[i], tolerance);
    }
  }
}

TEST(Optimizer, SaysWhetherTheGradientsAreFinite) {
  Serial serial;
  for (const OptimizerSpec& spec : kEachKind) {
    for (float bad : {std::nanf(""), std::numeric_limits<float>::infinity(),
                      -std::numeric_limits<float>::infinity()}) {
      Model model(spec, kCount);
      model.gradients[kCount - 1] = std::numeric_limits<float>::max();
      CHECK_TRUE(model.optimizer.Apply({1, 0.1}, model.Arrays(), 0, kCount, serial));
      model.gradients[kCount - 1] = bad;
      CHECK_TRUE(model.optimizer.Apply({1, 0.1}, model.Arrays(), 0, kCount - 1, serial));
      CHECK_FALSE(model.optimizer.Apply({1, 0.1}, model.Arrays(), 0, kCount, serial));
    }
  }
}

TEST(Optimizer, TakesGradientsOfARangeAlone) {
  Serial serial;
  for (const OptimizerSpec& spec : kEachKind) {
    const std::vector<float> whole = Train(spec, TrainWhole);
    const std::vector<float> parts = Train(spec, [&](Model& model, const OptimizerStep& step) {
      for (int64_t begin = 0; begin < kCount; begin += 30'001) {
        const int64_t end = std::min(begin + 30'001, kCount);
        const std::vector<float> some(model.gradients.begin() + begin,
                                      model.gradients.begin() + end);
        model.optimizer.Apply(step, {model.parameters, some, model.state, begin}, begin, end,
                              serial);
      }
    });
    CHECK_TRUE(SameBits(whole, parts));
  }
}

TEST(Optimizer, NeedsNoneOneOrTwoFloatsOfState) {
  LONGS_EQUAL(0, Optimizer::Create(Sgd{.weight_decay = 0.1})->state_per_parameter());
  LONGS_EQUAL(1, Optimizer::Create(Sgd{.momentum = 0.9})->state_per_parameter());
  LONGS_EQUAL(2, Optimizer::Create(AdamW{})->state_per_parameter());
}

TEST(Optimizer, GivesTheSameBitsInSlicesAsWhole) {
  for (const OptimizerSpec& spec : kEachKind) {
    const std::vector<float> whole = Train(spec, TrainWhole);
    // From the end to the beginning, in lengths that no vector width divides.
    const std::vector<float> sliced = Train(spec, [](Model& model, const OptimizerStep& step) {
      Serial serial;
      int64_t length = 1;
      for (int64_t end = kCount; end > 0;) {
        const int64_t begin = std::max<int64_t>(end - length, 0);
        model.optimizer.Apply(step, model.Arrays(), begin, end, serial);
        end = begin;
        length = length * 3 % 20011;
      }
    });
    CHECK(SameBits(whole, sliced));
  }
}

TEST(Optimizer, GivesTheSameBitsWithAnyNumberOfThreads) {
  for (const OptimizerSpec& spec : kEachKind) {
    const std::vector<float> one = Train(spec, TrainWhole);
    for (int threads : {2, 3, 7}) {
      const std::vector<float> many =
          Train(spec, [threads](Model& model, const OptimizerStep& step) {
            FreshThreads parallel(threads);
            model.optimizer.Apply(step, model.Arrays(), 0, kCount, parallel);
          });
      CHECK(SameBits(one, many));
    }
  }
}

// Not the bits of one machine: of all. The sum was computed on x86-64.
TEST(Optimizer, GivesTheSameBitsOnEveryMachine) {
  uint64_t hash = 0;
  for (const OptimizerSpec& spec : kEachKind) {
    for (const float value : Train(spec, TrainWhole)) {
      hash = hash * 31 + std::bit_cast<uint32_t>(value);
    }
  }
  UNSIGNED_LONGLONGS_EQUAL(0xA740ACB7D98599B3u, hash);
}

TEST(Optimizer, LeavesTheRestOfTheModelAlone) {
  Serial serial;
  for (const OptimizerSpec& spec : kEachKind) {
    Model model = RandomModel(spec);
    DrawGradients(1, model);
    const Model before = model;
    model.optimizer.Apply({1, 0.05}, model.Arrays(), 10, 20, serial);
    for (size_t i = 0; i < model.state.size(); ++i) {
      const bool inside = i % kCount >= 10 && i % kCount < 20;
      CHECK_EQUAL(inside, model.state[i] != before.state[i]);
    }
    for (size_t i = 0; i < model.parameters.size(); ++i) {
      const bool inside = i >= 10 && i < 20;
      CHECK_EQUAL(inside, model.parameters[i] != before.parameters[i]);
    }
  }
}

TEST(Optimizer, MovesNothingForAnEmptyRange) {
  Serial serial;
  Model model(AdamW{}, 3);
  model.gradients = {1, 1, 1};
  model.optimizer.Apply({1, 0.1}, model.Arrays(), 3, 3, serial);
  for (const float value : model.parameters) DOUBLES_EQUAL(0, value, 0);
}

TEST(Optimizer, ShowsAGradientThatIsNotANumber) {
  Serial serial;
  for (const OptimizerSpec& spec : kEachKind) {
    Model model(spec, 9);
    model.gradients[4] = std::numeric_limits<float>::quiet_NaN();
    model.optimizer.Apply({1, 0.1}, model.Arrays(), 0, 9, serial);
    CHECK(std::isnan(model.parameters[4]));
    CHECK_FALSE(std::isnan(model.parameters[3]));
  }
}

TEST(Optimizer, RefusesNumbersThatMakeNoSense) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  CheckRefused(Sgd{.momentum = 1}, "momentum must be from 0 to below 1, not 1.0");
  CheckRefused(Sgd{.momentum = -0.1}, "momentum");
  CheckRefused(Sgd{.momentum = kNan}, "momentum");
  CheckRefused(Sgd{.weight_decay = -1}, "weight decay must be 0 or more");
  CheckRefused(Sgd{.nesterov = true}, "needs a momentum above 0");
  CheckRefused(AdamW{.beta1 = 1}, "beta1");
  CheckRefused(AdamW{.beta2 = kNan}, "beta2");
  CheckRefused(AdamW{.eps = -1e-8}, "eps");
  CheckRefused(AdamW{.weight_decay = kNan}, "weight decay");
}

}  // namespace weft::train
