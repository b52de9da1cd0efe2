// SPDX-License-Identifier: Apache-2.0
#include "kernels/acl/backend.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/model/zoo.h"
#include "core/thread_pool.h"
#include "tests/op_harness/op_compare.h"
#include "tests/op_harness/op_data.h"
#include "tests/op_harness/op_harness.h"
#include "tests/op_harness/small_ops.h"
#include "tests/op_harness/zoo_ops.h"

#include <CppUTest/TestHarness.h>

namespace weft::harness {
namespace {

// Relative to the largest value of a result: sums of a few thousand floats, of which the reference
// keeps twice the digits. No kernel trades digits for speed.
constexpr Tolerance kTolerance{1e-5, 1e-5};

constexpr std::array kRoles{Role::kForward, Role::kBackwardData, Role::kBackwardWeights};
constexpr Activation kRelu = Activation::kRelu;
constexpr Activation kRelu6 = Activation::kRelu6;

// Convolutions that meet the edges of tiles, groups and threads.
std::vector<OpSpec> OddConvolutions() {
  using model::Conv2d;
  return {
      MakeOp(Conv2d{.out_channels = 13, .kernel = 7, .stride = 2, .padding = 3, .bias = false},
             {Shape{2, 3, 21, 18}}),
      MakeOp(Conv2d{.out_channels = 16, .kernel = 5}, {Shape{3, 6, 14, 14}}, kRelu),
      MakeOp(Conv2d{.out_channels = 9, .kernel = 11, .stride = 4, .padding = 2},
             {Shape{2, 3, 31, 31}}),
      MakeOp(Conv2d{.out_channels = 24, .kernel = 1}, {Shape{2, 31, 7, 9}}, kRelu6),
      MakeOp(Conv2d{.out_channels = 10, .kernel = 1, .stride = 2, .bias = false},
             {Shape{2, 32, 15, 14}}),
      MakeOp(Conv2d{.out_channels = 12, .kernel = 3, .padding = 2, .dilation = 2, .groups = 2},
             {Shape{2, 8, 9, 11}}, kRelu),
      MakeOp(Conv2d{.out_channels = 16, .kernel = 3, .padding = 1}, {Shape{1, 16, 1, 1}}),
      // Depthwise, with strides that have code of their own and one that has not.
      MakeOp(Conv2d{.out_channels = 20, .kernel = 3, .padding = 1, .groups = 20},
             {Shape{2, 20, 15, 14}}, kRelu6),
      MakeOp(Conv2d{.out_channels = 12, .kernel = 5, .stride = 2, .padding = 2, .groups = 12},
             {Shape{2, 12, 15, 14}}, kRelu),
      MakeOp(Conv2d{.out_channels = 12, .kernel = 3, .stride = 3, .dilation = 2, .groups = 6},
             {Shape{2, 6, 15, 14}}),
  };
}

// Convolutions with columns so deep that the batch is worked off in several chunks, each deeper
// than a block of the product.
std::vector<OpSpec> ConvolutionsInChunks() {
  using model::Conv2d;
  return {
      // One more image than go into a chunk, with and without columns.
      MakeOp(Conv2d{.out_channels = 2, .kernel = 3, .padding = 1}, {Shape{17, 228, 4, 4}}, kRelu),
      MakeOp(Conv2d{.out_channels = 2, .kernel = 1}, {Shape{17, 2052, 4, 4}}, kRelu),
      // More rows of an image than go into a chunk, with and without columns.
      MakeOp(Conv2d{.out_channels = 2, .kernel = 46, .stride = 2, .padding = 23},
             {Shape{1, 1, 33, 33}}),
      MakeOp(Conv2d{.out_channels = 2, .kernel = 1}, {Shape{1, 2052, 17, 17}}, kRelu),
  };
}

std::vector<OpSpec> OddOthers() {
  using namespace model;  // NOLINT(google-build-using-namespace)
  return {
      MakeOp(Linear{.out_features = 515}, {Shape{7, 1029}}, kRelu6),
      MakeOp(Linear{.out_features = 33}, {Shape{1, 77}}),
      MakeOp(Linear{.out_features = 10, .bias = false}, {Shape{9, 512}}),
      MakeOp(BatchNorm{}, {Shape{3, 5, 28, 27}}, kRelu),
      MakeOp(BatchNorm{}, {Shape{3, 20, 1, 1}}, kRelu6),
      InInference(MakeOp(BatchNorm{}, {Shape{2, 5, 28, 27}}, kRelu6)),
      MakeOp(MaxPool{.kernel = 3, .stride = 2, .ceil_mode = true}, {Shape{2, 5, 28, 27}}),
      InInference(MakeOp(MaxPool{.kernel = 3, .stride = 2, .padding = 1}, {Shape{2, 6, 15, 15}})),
      MakeOp(AvgPool{.kernel = 3, .stride = 1, .padding = 1, .count_include_pad = false},
             {Shape{2, 5, 17, 17}}),
      MakeOp(AdaptiveAvgPool{.output = 6}, {Shape{2, 5, 13, 13}}),
      MakeOp(Add{}, {Shape{2, 5, 7, 7}, Shape{2, 5, 7, 7}, Shape{2, 5, 7, 7}}, kRelu6),
      MakeOp(Relu6{}, {Shape{2, 5, 5, 5}}),
  };
}

// Runs every kernel that is offered for `op` and returns how many there were.
int Check(Backend& backend, const OpSpec& op, Fill fill = Fill::kUniform) {
  int compared = 0;
  const std::string wrong = CompareWithRef(op, backend, kTolerance, fill, &compared);
  STRCMP_EQUAL("", wrong.c_str());
  return compared;
}

// What is only copied or drawn is left to the reference.
bool IsLeftToRef(const model::Layer& layer) {
  return std::holds_alternative<model::Concat>(layer) ||
         std::holds_alternative<model::Dropout>(layer) ||
         std::holds_alternative<model::Flatten>(layer);
}

KernelSet SetOf(Role role, Kernel* forward, Kernel* kernel) {
  KernelSet set{.forward = role == Role::kForward ? kernel : forward};
  if (role == Role::kBackwardData) set.backward_data = kernel;
  if (role == Role::kBackwardWeights) set.backward_weights = kernel;
  return set;
}

}  // namespace

TEST_GROUP(AclBackend) {
  ThreadPool pool{2};
  acl::AclBackend backend{pool};
};

TEST(AclBackend, AgreesWithRefOnEveryLayerAndOption) {
  for (const SmallOp& small : SmallOps()) {
    for (Fill fill : {Fill::kUniform, Fill::kGrid, Fill::kSpread}) {
      const int compared = Check(backend, small.op, fill);
      CHECK_TEXT((compared == 0) == IsLeftToRef(small.op.layer), small.name.data());
    }
  }
}

TEST(AclBackend, AgreesWithRefOnOddConvolutions) {
  for (const OpSpec& op : OddConvolutions()) {
    CHECK_TEXT(Check(backend, op) >= 3, Describe(op).c_str());
  }
}

TEST(AclBackend, AgreesWithRefOnConvolutionsInChunks) {
  for (const OpSpec& op : ConvolutionsInChunks()) {
    CHECK_TEXT(Check(backend, op) >= 3, Describe(op).c_str());
  }
}

TEST(AclBackend, AgreesWithRefOnOddShapesOfOtherLayers) {
  for (const OpSpec& op : OddOthers()) {
    CHECK_TEXT(Check(backend, op, Fill::kGrid) > 0, Describe(op).c_str());
  }
}

TEST(AclBackend, AgreesWithRefOnTheOpsOfSmallNetworks) {
  // The reference runs in an emulator, too.
  constexpr int64_t kQuickProducts = 450'000;
  constexpr int64_t kQuickElements = 20'000;
  const auto is_quick = [](const OpSpec& op) {
    if (const auto* conv = std::get_if<model::Conv2d>(&op.layer)) {
      const int64_t depth = conv->in_channels / conv->groups * conv->kernel.h * conv->kernel.w;
      return op.dst.elements() * depth <= kQuickProducts;
    }
    const auto* linear = std::get_if<model::Linear>(&op.layer);
    return op.srcs[0].elements() <= kQuickElements &&
           (linear == nullptr || op.dst.elements() * linear->in_features <= kQuickProducts);
  };
  int compared = 0;
  for (const char* name : {"lenet5", "resnet18-cifar", "mobilenet_v2", "squeezenet1_1"}) {
    for (const OpSpec& op : DistinctOps(*model::BuildModel(name), 1, Join::kActivations)) {
      if (is_quick(op)) compared += Check(backend, op);
    }
  }
  CHECK(compared >= 40);
}

TEST(AclBackend, GivesTheSameBitsWhateverTheThreads) {
  for (const OpSpec& op : OddConvolutions()) {
    const OpData data = MakeData(op);
    for (Role role : kRoles) {
      Serial serial;
      std::vector<OpResult> alone;
      {
        acl::AclBackend one(serial);
        const auto forwards = one.Offer(op, Role::kForward);
        for (const auto& kernel : one.Offer(op, role)) {
          alone.push_back(RunOp(op, data, SetOf(role, forwards[0].get(), kernel.get())));
        }
      }
      ThreadPool three(3);
      acl::AclBackend many(three);
      const auto forwards = many.Offer(op, Role::kForward);
      const auto kernels = many.Offer(op, role);
      LONGS_EQUAL(alone.size(), kernels.size());
      for (size_t i = 0; i < kernels.size(); ++i) {
        const OpResult got = RunOp(op, data, SetOf(role, forwards[0].get(), kernels[i].get()));
        const std::string text = Describe(op) + ": " + std::string(kernels[i]->name());
        CHECK_TEXT(got.dst == alone[i].dst, text.c_str());
        CHECK_TEXT(got.d_srcs == alone[i].d_srcs, text.c_str());
        CHECK_TEXT(got.d_params == alone[i].d_params, text.c_str());
      }
    }
  }
}

// The library packs a matrix once and does not look at it again: a kernel that kept one of its
// objects would go on with the weights, or the image, of its first call.
TEST(AclBackend, SeesThatWeightsAndImagesHaveChanged) {
  const OpSpec ops[] = {
      MakeOp(model::Conv2d{.out_channels = 16, .kernel = 3, .padding = 1}, {Shape{2, 8, 9, 9}}),
      MakeOp(model::Conv2d{.out_channels = 16, .kernel = 1}, {Shape{2, 24, 9, 9}}),
      MakeOp(model::Linear{.out_features = 24}, {Shape{5, 40}}),
  };
  for (const OpSpec& op : ops) {
    const OpData first = MakeData(op, Fill::kUniform, 1);
    OpData other_params = first;
    other_params.params = MakeData(op, Fill::kUniform, 2).params;
    const OpData other_all = MakeData(op, Fill::kUniform, 3);
    for (Role role : kRoles) {
      const auto forwards = backend.Offer(op, Role::kForward);
      for (const auto& kernel : backend.Offer(op, role)) {
        const KernelSet set = SetOf(role, forwards[0].get(), kernel.get());
        for (const OpData& data : {first, other_params, other_all, first}) {
          const OpResult got = RunOp(op, data, set);
          const OpResult want = RunRef(op, data);
          STRCMP_EQUAL("", got.breach.c_str());
          CHECK_TEXT(RelativeError(got.dst, want.dst) <= kTolerance.exact, Describe(op).c_str());
          for (size_t i = 0; i < got.d_srcs.size(); ++i) {
            CHECK(RelativeError(got.d_srcs[i], want.d_srcs[i]) <= kTolerance.exact);
          }
          for (size_t i = 0; i < got.d_params.size(); ++i) {
            CHECK(RelativeError(got.d_params[i], want.d_params[i]) <= kTolerance.exact);
          }
        }
      }
    }
  }
}

TEST(AclBackend, WritesTheGradientOfABatchNormOverItsSource) {
  const OpSpec op = MakeOp(model::BatchNorm{}, {Shape{2, 3, 23, 25}});
  OpData data = MakeData(op);
  const auto forward = backend.Offer(op, Role::kForward);
  const auto backward = backend.Offer(op, Role::kBackwardData);
  CHECK(backward[0]->over_src());
  std::vector<std::byte> saved(forward[0]->saved_bytes());
  std::vector<float> dst(data.d_dst.size());
  std::vector<float> d_gamma(3);
  std::vector<float> d_beta(3);
  float* src = data.srcs[0].data();
  const float* srcs[] = {src};
  const float* params[] = {data.params[0].data(), data.params[1].data()};
  float* running[] = {data.running[0].data(), data.running[1].data()};
  float* d_srcs[] = {src};
  float* d_params[] = {d_gamma.data(), d_beta.data()};
  const OpResult want = RunRef(op, data);
  KernelArgs args{.srcs = srcs, .dst = dst.data(), .params = params, .running = running};
  args.saved = saved.data();
  forward[0]->Run(args);
  args.d_dst = data.d_dst.data();
  args.d_srcs = d_srcs;
  args.d_params = d_params;
  backward[0]->Run(args);
  CHECK(RelativeError(data.srcs[0], want.d_srcs[0]) <= kTolerance.exact);
}

TEST(AclBackend, OffersBothProductsForEveryConvolutionOfAResnetInEveryRole) {
  int convolutions = 0;
  for (const OpSpec& op :
       DistinctOps(*model::BuildModel("resnet18-cifar"), 32, Join::kActivations)) {
    if (!std::holds_alternative<model::Conv2d>(op.layer)) continue;
    ++convolutions;
    for (Role role : kRoles) {
      const auto kernels = backend.Offer(op, role);
      LONGS_EQUAL_TEXT(2, kernels.size(), Describe(op).c_str());
      STRCMP_EQUAL("acl:gemm", std::string(kernels[0]->name()).c_str());
      STRCMP_EQUAL("acl:neon", std::string(kernels[1]->name()).c_str());
    }
  }
  CHECK(convolutions >= 10);
}

TEST(AclBackend, OffersNoGradientsInInferenceAndNoActivationWhereNoneIsTaken) {
  const OpSpec conv = MakeOp(model::Conv2d{.out_channels = 4}, {Shape{1, 4, 4, 4}});
  CHECK(backend.Offer(InInference(conv), Role::kBackwardData).empty());
  OpSpec pool_with_relu = MakeOp(model::MaxPool{.kernel = 2, .stride = 2}, {Shape{1, 4, 4, 4}});
  pool_with_relu.activation = kRelu;
  CHECK(backend.Offer(pool_with_relu, Role::kForward).empty());
}

}  // namespace weft::harness
