// SPDX-License-Identifier: Apache-2.0
#include "kernels/onednn/backend.h"

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/model/zoo.h"
#include "tests/op_harness/op_compare.h"
#include "tests/op_harness/op_data.h"
#include "tests/op_harness/small_ops.h"
#include "tests/op_harness/zoo_ops.h"

#include <CppUTest/TestHarness.h>

namespace weft::harness {
namespace {

// Relative to the largest value of a result. Winograd's is a tenth of what its users may see.
constexpr Tolerance kTolerance{1e-5, 3e-4};

constexpr Activation kRelu = Activation::kRelu;
constexpr Activation kRelu6 = Activation::kRelu6;

// Convolutions that meet the edges of tiles, blocks, chunks and threads.
std::vector<OpSpec> OddConvolutions() {
  using model::Conv2d;
  return {
      MakeOp(Conv2d{.out_channels = 64, .kernel = 7, .stride = 2, .padding = 3, .bias = false},
             {Shape{2, 3, 33, 30}}),
      MakeOp(Conv2d{.out_channels = 32, .kernel = 3, .stride = 2, .padding = 1},
             {Shape{2, 3, 33, 30}}, kRelu6),
      MakeOp(Conv2d{.out_channels = 16, .kernel = 5}, {Shape{3, 6, 14, 14}}, kRelu),
      MakeOp(Conv2d{.out_channels = 24, .kernel = 1, .bias = false}, {Shape{2, 96, 14, 15}}),
      MakeOp(Conv2d{.out_channels = 144, .kernel = 1, .bias = false}, {Shape{2, 24, 14, 15}},
             kRelu6),
      MakeOp(Conv2d{.out_channels = 64, .kernel = 1, .stride = 2, .bias = false},
             {Shape{2, 32, 15, 14}}),
      MakeOp(Conv2d{.out_channels = 96, .kernel = 3, .stride = 2, .padding = 1, .groups = 96},
             {Shape{2, 96, 15, 14}}),
      MakeOp(Conv2d{.out_channels = 20, .kernel = 3, .padding = 1, .groups = 20},
             {Shape{2, 20, 15, 14}}, kRelu6),
      MakeOp(Conv2d{.out_channels = 64, .kernel = 3, .padding = 1, .groups = 4},
             {Shape{2, 32, 9, 9}}),
      MakeOp(Conv2d{.out_channels = 32, .kernel = {1, 7}, .padding = {0, 3}},
             {Shape{2, 24, 17, 17}}),
      MakeOp(Conv2d{.out_channels = 32, .kernel = 3, .padding = 2, .dilation = 2},
             {Shape{2, 16, 17, 17}}),
      MakeOp(Conv2d{.out_channels = 64, .kernel = 11, .stride = 4, .padding = 2},
             {Shape{2, 3, 64, 64}}),
      // 3x3 with stride 1, where Winograd applies.
      MakeOp(Conv2d{.out_channels = 20, .kernel = 3, .padding = 1}, {Shape{2, 12, 9, 7}}, kRelu),
      MakeOp(Conv2d{.out_channels = 40, .kernel = 3, .padding = 1, .bias = false},
             {Shape{3, 24, 13, 11}}),
      MakeOp(Conv2d{.out_channels = 40, .kernel = 3}, {Shape{1, 24, 9, 17}}),
      MakeOp(Conv2d{.out_channels = 32, .kernel = 3, .padding = 2}, {Shape{2, 16, 7, 7}}, kRelu6),
      MakeOp(Conv2d{.out_channels = 48, .kernel = 3, .padding = {1, 0}}, {Shape{2, 16, 8, 5}}),
      MakeOp(Conv2d{.out_channels = 16, .kernel = 3, .padding = 1}, {Shape{1, 16, 1, 1}}),
      MakeOp(Conv2d{.out_channels = 200, .kernel = 3, .padding = 1}, {Shape{2, 136, 12, 12}},
             kRelu),
      MakeOp(Conv2d{.out_channels = 520, .kernel = 3, .padding = 1, .bias = false},
             {Shape{1, 300, 6, 6}}),
      MakeOp(Conv2d{.out_channels = 64, .kernel = 3, .padding = 1}, {Shape{4, 64, 32, 20}}, kRelu),
  };
}

int64_t MultiplyAdds(const OpSpec& op) {
  if (const auto* conv = std::get_if<model::Conv2d>(&op.layer)) {
    return op.dst.elements() * (conv->in_channels / conv->groups) * conv->kernel.h * conv->kernel.w;
  }
  if (const auto* linear = std::get_if<model::Linear>(&op.layer)) {
    return op.dst.elements() * linear->in_features;
  }
  return op.dst.elements();
}

std::vector<OpSpec> OddOthers() {
  using namespace model;  // NOLINT(google-build-using-namespace)
  return {
      MakeOp(Linear{.out_features = 515}, {Shape{7, 1029}}, kRelu6),
      MakeOp(Linear{.out_features = 33}, {Shape{1, 77}}),
      MakeOp(BatchNorm{}, {Shape{8, 64, 14, 14}}, kRelu),
      MakeOp(BatchNorm{}, {Shape{4, 24, 28, 27}}, kRelu6),
      MakeOp(BatchNorm{}, {Shape{3, 20, 5, 5}}),
      InInference(MakeOp(BatchNorm{}, {Shape{4, 24, 28, 27}}, kRelu6)),
      MakeOp(MaxPool{.kernel = 3, .stride = 2, .ceil_mode = true}, {Shape{2, 24, 28, 27}}),
      MakeOp(MaxPool{.kernel = 2, .stride = 2}, {Shape{2, 20, 27, 28}}),
      InInference(MakeOp(MaxPool{.kernel = 3, .stride = 2, .padding = 1}, {Shape{2, 64, 15, 15}})),
      MakeOp(AvgPool{.kernel = 3, .stride = 1, .padding = 1, .count_include_pad = false},
             {Shape{2, 24, 17, 17}}),
      MakeOp(AdaptiveAvgPool{.output = 6}, {Shape{2, 40, 13, 13}}),
      MakeOp(Add{}, {Shape{2, 20, 7, 7}, Shape{2, 20, 7, 7}, Shape{2, 20, 7, 7}}, kRelu6),
      MakeOp(Concat{}, {Shape{2, 24, 7, 7}, Shape{2, 20, 7, 7}, Shape{2, 15, 7, 7}}),
      MakeOp(Concat{}, {Shape{2, 16, 7, 7}, Shape{2, 20, 7, 7}}),
      MakeOp(Dropout{}, {Shape{2, 20, 7, 5}}),
      MakeOp(Flatten{}, {Shape{4, 20, 3, 5}}),
      MakeOp(Flatten{}, {Shape{4, 20, 1, 1}}),
      MakeOp(Relu6{}, {Shape{2, 20, 5, 5}}),
      MakeOp(Relu{}, {Shape{5, 123}}),
  };
}

// Runs every kernel that is offered for `op`; an op that nobody computes fails, too.
void Check(Backend& backend, const OpSpec& op, Fill fill = Fill::kUniform) {
  int compared = 0;
  const std::string wrong = CompareWithRef(op, backend, kTolerance, fill, &compared);
  STRCMP_EQUAL("", wrong.c_str());
  CHECK_TEXT(compared > 0, Describe(op).c_str());
}

}  // namespace

TEST_GROUP(OnednnBackend){};

TEST(OnednnBackend, AgreesWithRefOnEveryLayerAndOption) {
  onednn::OnednnBackend backend(1);
  for (const SmallOp& small : SmallOps()) {
    for (Fill fill : {Fill::kUniform, Fill::kGrid, Fill::kSpread}) Check(backend, small.op, fill);
  }
}

TEST(OnednnBackend, AgreesWithRefOnOddShapesWhateverTheThreads) {
  for (int threads : {1, 3}) {
    onednn::OnednnBackend backend(threads);
    for (const OpSpec& op : OddConvolutions()) Check(backend, op);
    for (const OpSpec& op : OddOthers()) Check(backend, op, Fill::kGrid);
  }
}

TEST(OnednnBackend, AgreesWithRefInInference) {
  onednn::OnednnBackend backend(1);
  for (const OpSpec& op : OddConvolutions()) Check(backend, InInference(op));
}

// The shapes that are trained: each op of the whole zoo once, one image at a time. ref takes
// minutes over the largest convolutions, so those are for WEFT_ALL_SHAPES=1.
TEST(OnednnBackend, AgreesWithRefOnTheShapesOfTheZoo) {
  constexpr int64_t kQuick = 500'000;  // multiply-adds
  const bool all = std::getenv("WEFT_ALL_SHAPES") != nullptr;
  onednn::OnednnBackend backend(1);
  std::set<std::string> seen;
  for (const model::ZooEntry& entry : model::Zoo()) {
    const model::Graph graph = model::BuildModel(entry.name).value();
    for (const OpSpec& op : DistinctOps(graph, 1, Join::kActivations)) {
      if (!all && MultiplyAdds(op) > kQuick) continue;
      if (seen.insert(Describe(op)).second) Check(backend, op);
    }
  }
}

}  // namespace weft::harness
