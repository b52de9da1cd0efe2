// SPDX-License-Identifier: Apache-2.0
#include "kernels/ref/backend.h"

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "core/parallel.h"
#include "tests/op_harness/op_compare.h"
#include "tests/op_harness/op_data.h"
#include "tests/op_harness/small_ops.h"

#include <CppUTest/TestHarness.h>

namespace weft::harness {
namespace {

// A thread for each run, so that ThreadSanitizer sees what they share.
class ThreadPerRun final : public Parallel {
 public:
  int threads() const override { return 3; }
  void For(int64_t count, const std::function<void(int64_t, int64_t)>& body) override {
    std::vector<std::jthread> running;
    for (int64_t t = 0; t < threads(); ++t) {
      const int64_t begin = count * t / threads();
      const int64_t end = count * (t + 1) / threads();
      if (begin < end) running.emplace_back([&body, begin, end] { body(begin, end); });
    }
  }
};

}  // namespace

TEST_GROUP(RefBackend) {
  Serial serial;
  ref::RefBackend backend{serial};

  int Offered(const OpSpec& op, Role role) {
    return static_cast<int>(backend.Offer(op, role).size());
  }
};

TEST(RefBackend, OffersOneKernelForEveryRoleALayerHas) {
  for (const SmallOp& small : SmallOps()) {
    const std::string text = Describe(small.op);
    const bool has_weights = model::IsWeighted(small.op.layer);
    const int gradients = small.op.training ? 1 : 0;
    LONGS_EQUAL_TEXT(1, Offered(small.op, Role::kForward), text.c_str());
    LONGS_EQUAL_TEXT(gradients, Offered(small.op, Role::kBackwardData), text.c_str());
    LONGS_EQUAL_TEXT(has_weights ? gradients : 0, Offered(small.op, Role::kBackwardWeights),
                     text.c_str());
  }
}

TEST(RefBackend, OffersNothingWithoutAMeaning) {
  OpSpec pool = MakeOp(model::AdaptiveAvgPool{}, {Shape{1, 2, 3, 3}}, Activation::kRelu);
  LONGS_EQUAL(0, Offered(pool, Role::kForward));
  LONGS_EQUAL(0, Offered(OpSpec{.layer = model::Input{}}, Role::kForward));
}

TEST(RefBackend, KeepsTheContractOnEveryOpInPlaceToo) {
  for (const SmallOp& small : SmallOps()) {
    STRCMP_EQUAL("", CompareWithRef(small.op, backend, {.exact = 0, .inexact = 0}).c_str());
  }
}

TEST(RefBackend, GivesTheSameBitsOnAnyNumberOfThreads) {
  ThreadPerRun threads;
  ref::RefBackend threaded(threads);
  for (const SmallOp& small : SmallOps()) {
    int compared = 0;
    STRCMP_EQUAL("", CompareWithRef(small.op, threaded, {.exact = 0, .inexact = 0}, Fill::kUniform,
                                    &compared)
                         .c_str());
    CHECK(compared > 0);
  }
}

TEST(RefBackend, SaysWhatMayShareMemory) {
  for (const SmallOp& small : SmallOps()) {
    const bool moves_values = model::IsWeighted(small.op.layer) ||
                              std::holds_alternative<model::MaxPool>(small.op.layer) ||
                              std::holds_alternative<model::AvgPool>(small.op.layer) ||
                              std::holds_alternative<model::AdaptiveAvgPool>(small.op.layer) ||
                              std::holds_alternative<model::Concat>(small.op.layer);
    CHECK_EQUAL_TEXT(!moves_values, backend.Offer(small.op, Role::kForward)[0]->in_place(),
                     Describe(small.op).c_str());
  }
}

}  // namespace weft::harness
