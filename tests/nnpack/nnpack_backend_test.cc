// SPDX-License-Identifier: Apache-2.0
#include "kernels/nnpack/backend.h"

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/model/zoo.h"
#include "tests/op_harness/op_compare.h"
#include "tests/op_harness/op_data.h"
#include "tests/op_harness/op_harness.h"
#include "tests/op_harness/small_ops.h"
#include "tests/op_harness/zoo_ops.h"

#include <CppUTest/TestHarness.h>

namespace weft::harness {
namespace {

using model::Conv2d;
using Names = std::vector<std::string>;

// Relative to the largest value of a result. Fourier transforms stay below 1e-6; Winograd's, with
// 6x6 outputs at once, loses up to two digits more, and more where values cancel.
constexpr Tolerance kTolerance{1e-5, 1e-3};

constexpr Activation kRelu = Activation::kRelu;
constexpr Activation kRelu6 = Activation::kRelu6;

// Convolutions that meet the edges of tiles, blocks of channels and threads.
std::vector<OpSpec> OddConvolutions() {
  return {
      MakeOp(Conv2d{.out_channels = 16, .kernel = 5}, {Shape{3, 6, 14, 14}}, kRelu),
      MakeOp(Conv2d{.out_channels = 7, .kernel = 5, .padding = 2, .bias = false},
             {Shape{2, 3, 33, 30}}),
      MakeOp(Conv2d{.out_channels = 32, .kernel = {1, 7}, .padding = {0, 3}},
             {Shape{2, 24, 17, 17}}),
      MakeOp(Conv2d{.out_channels = 5, .kernel = {8, 2}, .padding = {7, 1}}, {Shape{2, 3, 9, 20}}),
      MakeOp(Conv2d{.out_channels = 5, .kernel = 8}, {Shape{1, 3, 8, 8}}),
      MakeOp(Conv2d{.out_channels = 9, .kernel = 11, .padding = 5}, {Shape{2, 3, 20, 19}}, kRelu6),
      MakeOp(Conv2d{.out_channels = 3, .kernel = 16}, {Shape{1, 2, 17, 16}}),
      // 3x3, where Winograd applies.
      MakeOp(Conv2d{.out_channels = 20, .kernel = 3, .padding = 1}, {Shape{2, 12, 9, 7}}, kRelu),
      MakeOp(Conv2d{.out_channels = 40, .kernel = 3, .padding = 1, .bias = false},
             {Shape{3, 24, 13, 11}}),
      MakeOp(Conv2d{.out_channels = 40, .kernel = 3}, {Shape{1, 24, 9, 17}}),
      MakeOp(Conv2d{.out_channels = 32, .kernel = 3, .padding = 2}, {Shape{2, 16, 7, 7}}, kRelu6),
      MakeOp(Conv2d{.out_channels = 48, .kernel = 3, .padding = {1, 0}}, {Shape{2, 16, 8, 5}}),
      MakeOp(Conv2d{.out_channels = 16, .kernel = 3, .padding = 1}, {Shape{1, 16, 1, 1}}),
      MakeOp(Conv2d{.out_channels = 1, .kernel = 3, .padding = 1}, {Shape{5, 1, 6, 6}}),
      // More channels or images than fit into a block of the product of matrices.
      MakeOp(Conv2d{.out_channels = 24, .kernel = 3, .padding = 1}, {Shape{2, 300, 5, 5}}, kRelu),
      MakeOp(Conv2d{.out_channels = 300, .kernel = 3, .padding = 1, .bias = false},
             {Shape{2, 24, 5, 5}}),
      MakeOp(Conv2d{.out_channels = 3, .kernel = 3, .padding = 1}, {Shape{300, 2, 5, 5}}),
  };
}

// Runs every kernel that is offered for `op`; returns how many there were.
int Compare(Backend& backend, const OpSpec& op, Fill fill = Fill::kUniform) {
  int compared = 0;
  const std::string wrong = CompareWithRef(op, backend, kTolerance, fill, &compared);
  STRCMP_EQUAL("", wrong.c_str());
  return compared;
}

Names NamesOf(const std::vector<std::unique_ptr<Kernel>>& kernels) {
  Names names;
  for (const auto& kernel : kernels) names.emplace_back(kernel->name());
  return names;
}

}  // namespace

TEST_GROUP(NnpackBackend) { nnpack::NnpackBackend backend{1}; };

TEST(NnpackBackend, AgreesWithRefOnTheSmallOpsThatItTakes) {
  int taken = 0;
  for (const SmallOp& small : SmallOps()) {
    for (Fill fill : {Fill::kUniform, Fill::kGrid, Fill::kSpread}) {
      if (Compare(backend, small.op, fill) > 0) ++taken;
    }
  }
  // conv2d, _padding, _relu and _relu6 are the ones with stride, dilation and groups of 1 and a
  // kernel larger than 1x1.
  LONGS_EQUAL(4 * 3, taken);
}

TEST(NnpackBackend, AgreesWithRefOnOddShapes) {
  for (const OpSpec& op : OddConvolutions()) {
    CHECK_TEXT(Compare(backend, op) > 0, Describe(op).c_str());
  }
}

// On a single tile: NNPACK's threads wait for each other many times in a call, spinning, which
// takes long where processors are few or busy.
TEST(NnpackBackend, GivesTheSameBitsWhateverTheThreads) {
  nnpack::NnpackBackend pair(2);
  const OpSpec op =
      MakeOp(Conv2d{.out_channels = 5, .kernel = 3, .padding = 1}, {Shape{2, 6, 5, 4}}, kRelu6);
  const OpData data = MakeData(op);
  const auto run = [&](Backend& some, size_t i) {
    const auto forward = some.Offer(op, Role::kForward);
    const auto backward_data = some.Offer(op, Role::kBackwardData);
    const auto backward_weights = some.Offer(op, Role::kBackwardWeights);
    return RunOp(
        op, data,
        {.forward = forward[i].get(),
         .backward_data = backward_data[i].get(),
         .backward_weights = i < backward_weights.size() ? backward_weights[i].get() : nullptr});
  };
  for (size_t i = 0; i < 3; ++i) {
    const OpResult alone = run(backend, i);
    const OpResult shared = run(pair, i);
    STRCMP_EQUAL("", alone.breach.c_str());
    STRCMP_EQUAL("", shared.breach.c_str());
    CHECK(alone.dst == shared.dst);
    CHECK(alone.d_srcs == shared.d_srcs);
    CHECK(alone.d_params == shared.d_params);
  }
}

TEST(NnpackBackend, AgreesWithRefInInference) {
  for (const OpSpec& op : OddConvolutions()) {
    CHECK_TEXT(Compare(backend, InInference(op)) > 0, Describe(op).c_str());
  }
}

// ref takes its time over the largest, which are left out.
TEST(NnpackBackend, AgreesWithRefOnTheShapesOfTheZoo) {
  constexpr int64_t kQuick = 10'000'000;  // multiply-adds
  std::set<std::string> seen;
  int taken = 0;
  for (const char* name : {"lenet5", "vgg11", "resnet18-cifar"}) {
    const model::Graph graph = model::BuildModel(name).value();
    for (const OpSpec& op : DistinctOps(graph, 1, Join::kActivations)) {
      const auto* conv = std::get_if<Conv2d>(&op.layer);
      if (conv == nullptr || !seen.insert(Describe(op)).second) continue;
      const int64_t work = op.dst.elements() * conv->in_channels * conv->kernel.h * conv->kernel.w;
      if (work <= kQuick && Compare(backend, op) > 0) ++taken;
    }
  }
  CHECK_COMPARE(taken, >=, 3);
}

TEST(NnpackBackend, OffersEachAlgorithmWhereItFits) {
  const Names all{"nnpack:winograd8x8", "nnpack:fft8x8", "nnpack:fft16x16"};
  const Names fourier{"nnpack:fft8x8", "nnpack:fft16x16"};
  const OpSpec three =
      MakeOp(Conv2d{.out_channels = 8, .kernel = 3, .padding = 1}, {Shape{2, 8, 16, 16}});
  CHECK(NamesOf(backend.Offer(three, Role::kForward)) == all);
  CHECK(NamesOf(backend.Offer(three, Role::kBackwardData)) == all);
  CHECK(NamesOf(backend.Offer(three, Role::kBackwardWeights)) == fourier);
  CHECK_FALSE(backend.Offer(three, Role::kForward).front()->exact());
  const OpSpec five = MakeOp(Conv2d{.out_channels = 8, .kernel = 5}, {Shape{2, 8, 16, 16}});
  CHECK(NamesOf(backend.Offer(five, Role::kForward)) == fourier);
  const OpSpec nine = MakeOp(Conv2d{.out_channels = 8, .kernel = 9}, {Shape{2, 8, 16, 16}});
  CHECK(NamesOf(backend.Offer(nine, Role::kForward)) == Names{"nnpack:fft16x16"});
  // Whose weights, transformed for 16x16 tiles, are 256 MiB.
  const OpSpec wide =
      MakeOp(Conv2d{.out_channels = 512, .kernel = 3, .padding = 1}, {Shape{2, 512, 4, 4}});
  CHECK(NamesOf(backend.Offer(wide, Role::kBackwardWeights)) == Names{"nnpack:fft8x8"});
}

TEST(NnpackBackend, OffersNothingForWhatNnpackCannotDo) {
  for (const Conv2d& conv : {
           Conv2d{.out_channels = 8, .kernel = 3, .stride = 2, .padding = 1},
           Conv2d{.out_channels = 8, .kernel = 3, .stride = {1, 2}, .padding = 1},
           Conv2d{.out_channels = 8, .kernel = 3, .padding = 2, .dilation = 2},
           Conv2d{.out_channels = 8, .kernel = 3, .padding = 1, .groups = 2},
           Conv2d{.out_channels = 8, .kernel = 3, .padding = 1, .groups = 8},
           Conv2d{.out_channels = 8, .kernel = 3, .padding = 3},  // not less than the kernel
           Conv2d{.out_channels = 8, .kernel = 17},
           Conv2d{.out_channels = 8, .kernel = 1},
       }) {
    const OpSpec op = MakeOp(conv, {Shape{2, 8, 20, 20}});
    for (Role role : {Role::kForward, Role::kBackwardData, Role::kBackwardWeights}) {
      CHECK_TEXT(backend.Offer(op, role).empty(), Describe(op).c_str());
    }
  }
}

// A training run that has gone astray must not look healthy behind an activation.
TEST(NnpackBackend, LetsNanThroughTheJoinedActivation) {
  for (Activation activation : {kRelu, kRelu6}) {
    const OpSpec op = MakeOp(Conv2d{.out_channels = 8, .kernel = 3, .padding = 1},
                             {Shape{1, 8, 12, 12}}, activation);
    OpData data = MakeData(op);
    data.params[1][2] = std::numeric_limits<float>::quiet_NaN();
    const OpResult want = RunRef(op, data);
    for (const auto& forward : backend.Offer(op, Role::kForward)) {
      const OpResult got = RunOp(op, data, {.forward = forward.get()});
      STRCMP_EQUAL("", got.breach.c_str());
      // Infinite where only one of them has a NaN.
      CHECK_TEXT(RelativeError(got.dst, want.dst) <= kTolerance.inexact, forward->name().data());
    }
  }
}

}  // namespace weft::harness
