// SPDX-License-Identifier: Apache-2.0
// Sums and steps against plain loops and against the optimizer at home, to the last bit.
#include "cloud_ps/aggregator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "cloud_ps/number_checks.h"
#include "core/rng.h"
#include "core/thread_pool.h"

#include <CppUTest/TestHarness.h>

namespace weft::ps {
namespace {

using net::FloatRange;
using train::AdamW;
using train::OptimizerSpec;
using train::OptimizerStep;
using train::Sgd;

constexpr OptimizerSpec kEachKind[] = {
    Sgd{},
    Sgd{.weight_decay = 1e-2},
    Sgd{.momentum = 0.9},
    Sgd{.momentum = 0.9, .weight_decay = 1e-4},
    Sgd{.momentum = 0.9, .weight_decay = 1e-4, .nesterov = true},
    AdamW{},
};

// Units with and without statistics, some smaller and some larger than a block, one empty. The
// server has all but the first and the last.
net::WireLayout MakeLayout() {
  return net::WireLayout::Create({{"elsewhere", 1000, 10},
                                  {"conv", 5000, 0},
                                  {"norm", 64, 128},
                                  {"only statistics", 0, 3},
                                  {"empty", 0, 0},
                                  {"large", 20001, 77},
                                  {"small", 1, 1},
                                  {"classifier", 9000, 0},
                                  {"elsewhere too", 50, 0}})
      .value();
}

constexpr net::WireLayout::UnitRange kUnits = {1, 7};
constexpr int64_t kFloats = 5000 + 64 + 128 + 3 + 20001 + 77 + 1 + 1 + 9000;

// Which of the server's floats are statistics, one by one.
std::vector<bool> MakeStatistics() {
  std::vector<bool> statistics;
  const net::WireLayout layout = MakeLayout();
  for (int unit = kUnits.first; unit <= kUnits.last; ++unit) {
    const net::WireUnit& sizes = layout.units()[static_cast<size_t>(unit)];
    statistics.insert(statistics.end(), static_cast<size_t>(sizes.parameters), false);
    statistics.insert(statistics.end(), static_cast<size_t>(sizes.statistics), true);
  }
  return statistics;
}

std::vector<float> Draw(uint64_t stream) {
  std::vector<float> values(static_cast<size_t>(kFloats));
  Rng rng(5, stream);
  for (float& value : values) value = static_cast<float>(rng.Fraction() - 0.5);
  return values;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

// The server's side, and what three workers sent it in a round.
struct ServerMemory {
  explicit ServerMemory(const OptimizerSpec& spec)
      : aggregator(MakeLayout(), kUnits, train::Optimizer::Create(spec).value()),
        current(Draw(0)),
        next(static_cast<size_t>(kFloats), std::numeric_limits<float>::quiet_NaN()),
        mean(next),
        state(static_cast<size_t>(aggregator.state_floats())) {}

  ServerArrays Arrays() { return {current, next, state}; }

  std::vector<Summand> Summands(const std::vector<uint32_t>& weights) {
    std::vector<Summand> summands;
    for (size_t worker = 0; worker < weights.size(); ++worker) {
      summands.push_back({pushed[worker].data(), weights[worker]});
    }
    return summands;
  }

  void DrawPushes(int64_t step, size_t workers) {
    pushed.clear();
    for (size_t worker = 0; worker < workers; ++worker) {
      pushed.push_back(Draw(static_cast<uint64_t>(100 * step) + worker));
    }
  }

  bool Move(const OptimizerStep& step, FloatRange slice, const std::vector<uint32_t>& weights,
            Parallel& parallel) {
    const std::span<float> part = std::span(mean).subspan(static_cast<size_t>(slice.begin),
                                                          static_cast<size_t>(slice.size()));
    return aggregator.Aggregate(step, slice, Summands(weights), part, Arrays(), parallel);
  }

  Aggregator aggregator;
  std::vector<float> current;
  std::vector<float> next;
  std::vector<float> mean;
  std::vector<float> state;
  std::vector<std::vector<float>> pushed;
};

const std::vector<uint32_t> kWeights = {32, 7, 33};

OptimizerStep StepAt(int64_t number) { return {number, 0.05 / static_cast<double>(number)}; }

// Three rounds of a server that `move` moves; everything it ends with.
template <typename Move>
std::vector<float> Train(const OptimizerSpec& spec, const Move& move) {
  ServerMemory server(spec);
  std::vector<float> all;
  for (int64_t number = 1; number <= 3; ++number) {
    server.DrawPushes(number, kWeights.size());
    move(server, StepAt(number));
    all.insert(all.end(), server.mean.begin(), server.mean.end());
    std::swap(server.current, server.next);
  }
  all.insert(all.end(), server.current.begin(), server.current.end());
  all.insert(all.end(), server.state.begin(), server.state.end());
  return all;
}

std::vector<float> TrainWhole(const OptimizerSpec& spec) {
  return Train(spec, [](ServerMemory& server, const OptimizerStep& step) {
    Serial serial;
    CHECK_TRUE(server.Move(step, {0, kFloats}, kWeights, serial));
  });
}

// The definition: one float after the other.
float MeanAt(const ServerMemory& server, size_t i, const std::vector<uint32_t>& weights) {
  if (weights.size() == 1) return server.pushed[0][i];
  volatile float sum = static_cast<float>(weights[0]) * server.pushed[0][i];
  uint64_t total = weights[0];
  for (size_t worker = 1; worker < weights.size(); ++worker) {
    const volatile float product = static_cast<float>(weights[worker]) * server.pushed[worker][i];
    sum = sum + product;
    total += weights[worker];
  }
  return sum / static_cast<float>(total);
}

// The optimizer on a trainer's own arrays, which hold no statistics: step by step what a server
// with one worker has to end with.
struct AtHome {
  explicit AtHome(const OptimizerSpec& spec) : optimizer(train::Optimizer::Create(spec).value()) {
    const std::vector<bool> statistics = MakeStatistics();
    for (size_t i = 0; i < statistics.size(); ++i) {
      if (!statistics[i]) places.push_back(i);
    }
    state.resize(places.size() * static_cast<size_t>(optimizer.state_per_parameter()));
    parameters = Only(Draw(0));
  }

  std::vector<float> Only(const std::vector<float>& all) const {
    std::vector<float> picked;
    for (const size_t place : places) picked.push_back(all[place]);
    return picked;
  }

  void Move(const OptimizerStep& step, const std::vector<float>& all_gradients) {
    const std::vector<float> gradients = Only(all_gradients);
    Serial serial;
    optimizer.Apply(step, {parameters, gradients, state}, 0, std::ssize(parameters), serial);
  }

  train::Optimizer optimizer;
  std::vector<size_t> places;  // of parameters among the server's floats
  std::vector<float> parameters;
  std::vector<float> state;
};

void CheckMatchesHome(const ServerMemory& server, const AtHome& home) {
  CHECK_TRUE(SameBits(home.parameters, home.Only(server.next)));
  std::vector<float> state;
  for (int64_t s = 0; s < home.optimizer.state_per_parameter(); ++s) {
    const auto begin = server.state.begin() + s * kFloats;
    const std::vector<float> one = home.Only({begin, begin + kFloats});
    state.insert(state.end(), one.begin(), one.end());
  }
  CHECK_TRUE(SameBits(home.state, state));
}

}  // namespace

TEST_GROUP(Aggregator){};

TEST(Aggregator, MeansAreThoseOfPlainLoops) {
  for (const std::vector<uint32_t>& weights :
       {std::vector<uint32_t>{32}, {1, 1}, {32, 7, 33}, {5, 4, 3, 2, 1}, {4'000'000'000u, 3}}) {
    ServerMemory server(Sgd{});
    server.DrawPushes(1, weights.size());
    Serial serial;
    CHECK_TRUE(server.Move(StepAt(1), {0, kFloats}, weights, serial));
    for (size_t i = 0; i < server.mean.size(); ++i) {
      const float expected = MeanAt(server, i, weights);
      CHECK_TRUE(std::memcmp(&expected, &server.mean[i], sizeof(float)) == 0);
    }
  }
}

TEST(Aggregator, TheOrderOfSummandsIsKept) {
  ServerMemory server(Sgd{});
  server.DrawPushes(1, 3);
  server.pushed[0][0] = 1e8f;
  server.pushed[1][0] = -1e8f;
  server.pushed[2][0] = 1;
  Serial serial;
  CHECK_TRUE(server.Move(StepAt(1), {0, kFloats}, {1, 1, 1}, serial));
  DOUBLES_EQUAL(1.0f / 3, server.mean[0], 0);
  std::swap(server.pushed[1], server.pushed[2]);  // 1e8 swallows the 1
  CHECK_TRUE(server.Move(StepAt(1), {0, kFloats}, {1, 1, 1}, serial));
  DOUBLES_EQUAL(0, server.mean[0], 0);
}

TEST(Aggregator, StepsAreTheOptimizersFromTheMean) {
  for (const OptimizerSpec& spec : kEachKind) {
    ServerMemory server(spec);
    AtHome home(spec);
    Serial serial;
    for (int64_t number = 1; number <= 3; ++number) {
      server.DrawPushes(number, kWeights.size());
      CHECK_TRUE(server.Move(StepAt(number), {0, kFloats}, kWeights, serial));
      home.Move(StepAt(number), server.mean);
      CheckMatchesHome(server, home);
      std::swap(server.current, server.next);
    }
  }
}

TEST(Aggregator, OneWorkersStepsHaveTheBitsOfStepsAtHome) {
  for (const OptimizerSpec& spec : kEachKind) {
    ServerMemory server(spec);
    AtHome home(spec);
    ThreadPool pool(3);
    for (int64_t number = 1; number <= 5; ++number) {
      server.DrawPushes(number, 1);
      CHECK_TRUE(server.Move(StepAt(number), {0, kFloats}, {7}, pool));
      home.Move(StepAt(number), server.pushed[0]);
      CHECK_TRUE(SameBits(server.pushed[0], server.mean));
      CheckMatchesHome(server, home);
      std::swap(server.current, server.next);
    }
  }
}

TEST(Aggregator, StatisticsBecomeTheirWeightedMean) {
  const std::vector<bool> statistics = MakeStatistics();
  LONGS_EQUAL(209, std::count(statistics.begin(), statistics.end(), true));
  ServerMemory server(Sgd{.momentum = 0.9, .weight_decay = 1e-4});
  server.DrawPushes(1, 2);
  for (float& value : server.pushed[0]) value = 4;
  for (float& value : server.pushed[1]) value = 8;
  Serial serial;
  CHECK_TRUE(server.Move(StepAt(1), {0, kFloats}, {3, 1}, serial));
  for (size_t i = 0; i < statistics.size(); ++i) {
    DOUBLES_EQUAL(5, server.mean[i], 0);
    CHECK_EQUAL(statistics[i], server.next[i] == 5.0f);
    CHECK_EQUAL(statistics[i], server.state[i] == 0.0f);
  }
}

TEST(Aggregator, AnyNumberOfThreadsGivesTheSameBits) {
  for (const OptimizerSpec& spec : kEachKind) {
    const std::vector<float> expected = TrainWhole(spec);
    for (const int threads : {2, 3, 7}) {
      ThreadPool pool(threads);
      CHECK_TRUE(
          SameBits(expected, Train(spec, [&](ServerMemory& server, const OptimizerStep& step) {
                     CHECK_TRUE(server.Move(step, {0, kFloats}, kWeights, pool));
                   })));
    }
  }
}

TEST(Aggregator, AnySlicesInAnyOrderGiveTheSameBits) {
  Rng rng(17);
  for (const OptimizerSpec& spec : kEachKind) {
    const std::vector<float> expected = TrainWhole(spec);
    for (int cut = 0; cut < 5; ++cut) {
      std::vector<int64_t> borders = {0, kFloats};
      for (int64_t i = rng.Between(1, 40); i > 0; --i) borders.push_back(rng.Between(0, kFloats));
      std::sort(borders.begin(), borders.end());
      std::vector<FloatRange> slices;
      for (size_t i = 1; i < borders.size(); ++i) slices.push_back({borders[i - 1], borders[i]});
      CHECK_TRUE(
          SameBits(expected, Train(spec, [&](ServerMemory& server, const OptimizerStep& step) {
                     for (size_t i = slices.size(); i > 1; --i) {
                       const int64_t other = rng.Between(0, static_cast<int64_t>(i) - 1);
                       std::swap(slices[i - 1], slices[static_cast<size_t>(other)]);
                     }
                     ThreadPool pool(2);
                     for (const FloatRange& slice : slices) {
                       CHECK_TRUE(server.Move(step, slice, kWeights, pool));
                     }
                   })));
    }
  }
}

TEST(Aggregator, TouchesNothingOutsideItsSlice) {
  ServerMemory server(AdamW{});
  server.DrawPushes(1, 2);
  Serial serial;
  const FloatRange slice = {4990, 5300};
  CHECK_TRUE(server.Move(StepAt(1), slice, {1, 2}, serial));
  const std::vector<bool> statistics = MakeStatistics();
  for (int64_t i = 0; i < kFloats; ++i) {
    const size_t at = static_cast<size_t>(i);
    const bool inside = i >= slice.begin && i < slice.end;
    CHECK_EQUAL(inside, !std::isnan(server.next[at]));
    CHECK_EQUAL(inside, !std::isnan(server.mean[at]));
    CHECK_EQUAL(inside && !statistics[at], server.state[at] != 0);
    CHECK_EQUAL(inside && !statistics[at], server.state[at + kFloats] != 0);
  }
}

TEST(Aggregator, RedoFromTheMeanGivesTheSameBits) {
  for (const OptimizerSpec& spec : kEachKind) {
    ServerMemory server(spec);
    ServerMemory redone(spec);
    Serial serial;
    ThreadPool pool(2);
    const FloatRange slices[] = {{0, 5001}, {5001, 30000}, {30000, kFloats}};
    for (int64_t number = 1; number <= 3; ++number) {
      server.DrawPushes(number, kWeights.size());
      CHECK_TRUE(server.Move(StepAt(number), {0, kFloats}, kWeights, pool));
      for (const FloatRange& slice : slices) {
        const JournalRecord record{.round = number,
                                   .slice = slice,
                                   .mean = std::span(server.mean)
                                               .subspan(static_cast<size_t>(slice.begin),
                                                        static_cast<size_t>(slice.size()))};
        CHECK_TRUE(redone.aggregator.Redo(StepAt(number), record, redone.Arrays(), serial));
      }
      CHECK_TRUE(SameBits(server.next, redone.next));
      CHECK_TRUE(SameBits(server.state, redone.state));
      std::swap(server.current, server.next);
      std::swap(redone.current, redone.next);
    }
  }
}

TEST(Aggregator, AFloatThatIsNotFiniteIsNoticedAtEveryPlace) {
  ThreadPool pool(2);
  Rng rng(3);
  const float bad[] = {std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::quiet_NaN()};
  ServerMemory server(Sgd{.momentum = 0.9});
  server.DrawPushes(1, 2);
  for (int64_t at = 0; at < kFloats; ++at) {
    float& sent = server.pushed[static_cast<size_t>(at % 2)][static_cast<size_t>(at)];
    const float before = std::exchange(sent, bad[at % 3]);
    const FloatRange slice = {std::max<int64_t>(0, at - rng.Between(0, 40)),
                              std::min(kFloats, at + 1 + rng.Between(0, 40))};
    CHECK_FALSE(server.Move(StepAt(1), slice, {1, 1}, pool));
    sent = before;
    for (int64_t i = slice.begin; i < slice.end; ++i) server.state[static_cast<size_t>(i)] = 0;
  }
  CHECK_TRUE(server.Move(StepAt(1), {0, kFloats}, {1, 1}, pool));
}

TEST(Aggregator, OverflowsOnTheWayAreNoticed) {
  Serial serial;
  const float huge = std::numeric_limits<float>::max();
  {
    ServerMemory server(Sgd{});
    server.DrawPushes(1, 2);
    server.pushed[0][3] = huge;  // finite, but its product is not
    CHECK_FALSE(server.Move(StepAt(1), {0, 10}, {2, 1}, serial));
  }
  {
    ServerMemory server(Sgd{});
    server.DrawPushes(1, 1);
    server.current[3] = -huge;  // the next value is not
    server.pushed[0][3] = huge;
    CHECK_FALSE(server.Move({1, 10.0}, {0, 10}, {1}, serial));
  }
  {
    ServerMemory server(AdamW{});
    server.DrawPushes(1, 1);
    server.pushed[0][3] = 1e25f;  // the mean square is not
    CHECK_FALSE(server.Move(StepAt(1), {0, 10}, {1}, serial));
  }
}

TEST_GROUP(NumberChecks){};

TEST(NumberChecks, FiniteFloatsOfEveryKindAreFinite) {
  const float kinds[] = {0.0f, -0.0f, std::numeric_limits<float>::denorm_min(),
                         std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest()};
  CHECK_TRUE(AllFinite({}));
  CHECK_TRUE(AllFinite(kinds));
}

TEST(NumberChecks, WhatIsNotFiniteIsFoundAtEveryPlaceOfEveryLength) {
  for (size_t length = 1; length < 70; ++length) {
    std::vector<float> values(length, std::numeric_limits<float>::max());
    for (size_t at = 0; at < length; ++at) {
      for (const float bad :
           {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
            std::numeric_limits<float>::quiet_NaN(),
            -std::numeric_limits<float>::signaling_NaN()}) {
        values[at] = bad;
        CHECK_FALSE(AllFinite(values));
      }
      values[at] = 1;
    }
    CHECK_TRUE(AllFinite(values));
  }
  std::vector<float> many(100'000, 1.0f);
  many[99'999] = std::numeric_limits<float>::infinity();
  CHECK_FALSE(AllFinite(many));
}

TEST(NumberChecks, SquaresAreSummedInTheirFixedOrder) {
  for (const size_t length : {0u, 1u, 7u, 8u, 9u, 1003u}) {
    std::vector<float> values = Draw(9);
    values.resize(length);
    double lanes[8] = {};
    for (size_t i = 0; i < length; ++i) {
      lanes[i % 8] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    }
    double expected = 0;
    for (const double lane : lanes) expected += lane;
    const double sum = SumOfSquares(values);
    CHECK_TRUE(std::memcmp(&expected, &sum, sizeof(double)) == 0);
  }
}

TEST(NumberChecks, SquaresOfTheLargestFloatsDoNotOverflow) {
  const std::vector<float> values(1000, std::numeric_limits<float>::max());
  CHECK_TRUE(std::isfinite(SumOfSquares(values)));
}

}  // namespace weft::ps
