// SPDX-License-Identifier: Apache-2.0
#include "tests/op_harness/zoo_ops.h"

#include <cstddef>
#include <iterator>
#include <string>
#include <variant>

#include "core/model/zoo.h"
#include "core/parallel.h"
#include "kernels/ref/backend.h"
#include "tests/op_harness/op_data.h"

#include <CppUTest/TestHarness.h>

namespace weft::harness {

TEST_GROUP(ZooOps){};

TEST(ZooOps, AreTheLayersOfTheNetworkWithTheBatchInFront) {
  const char* expected[] = {
      "conv2d 1->6 k5x5 s1x1 p2x2 d1x1 g1 bias + relu: [3, 1, 28, 28] -> [3, 6, 28, 28]",
      "max_pool k2x2 s2x2 p0x0: [3, 6, 28, 28] -> [3, 6, 14, 14]",
      "conv2d 6->16 k5x5 s1x1 p0x0 d1x1 g1 bias + relu: [3, 6, 14, 14] -> [3, 16, 10, 10]",
      "max_pool k2x2 s2x2 p0x0: [3, 16, 10, 10] -> [3, 16, 5, 5]",
      "flatten: [3, 16, 5, 5] -> [3, 400]",
      "linear bias + relu: [3, 400] -> [3, 120]",
      "linear bias + relu: [3, 120] -> [3, 84]",
      "linear bias: [3, 84] -> [3, 10]",
  };
  const auto ops = DistinctOps(*model::BuildModel("lenet5"), 3, Join::kActivations);
  LONGS_EQUAL(std::size(expected), ops.size());
  for (size_t i = 0; i < ops.size(); ++i) STRCMP_EQUAL(expected[i], Describe(ops[i]).c_str());
}

TEST(ZooOps, LeaveActivationsAloneWhereAsked) {
  int relus = 0;
  for (const OpSpec& op : DistinctOps(*model::BuildModel("resnet18"), 1, Join::kNothing)) {
    CHECK(op.activation == Activation::kNone);
    relus += std::holds_alternative<model::Relu>(op.layer);
  }
  LONGS_EQUAL(5, relus);  // [64, 112, 112] and one shape for each of the four stages
}

TEST(ZooOps, NeverRepeatAnOp) {
  // Of its 20 convolutions: the first, one in stage 1, and in each later stage the one that halves
  // the image, the shortcut, and one for the rest.
  int convolutions = 0;
  for (const OpSpec& op : DistinctOps(*model::BuildModel("resnet18"), 1, Join::kActivations)) {
    convolutions += std::holds_alternative<model::Conv2d>(op.layer);
  }
  LONGS_EQUAL(11, convolutions);
}

TEST(ZooOps, AreAllOfferedByRefInEveryRoleTheyHave) {
  Serial serial;
  ref::RefBackend backend(serial);
  for (const model::ZooEntry& entry : model::Zoo()) {
    const model::Graph graph = model::BuildModel(entry.name).value();
    for (Join join : {Join::kNothing, Join::kActivations}) {
      for (const OpSpec& op : DistinctOps(graph, 2, join)) {
        const std::string text = Describe(op);
        LONGS_EQUAL_TEXT(1, backend.Offer(op, Role::kForward).size(), text.c_str());
        LONGS_EQUAL_TEXT(1, backend.Offer(op, Role::kBackwardData).size(), text.c_str());
        LONGS_EQUAL_TEXT(model::IsWeighted(op.layer) ? 1 : 0,
                         backend.Offer(op, Role::kBackwardWeights).size(), text.c_str());
      }
    }
  }
}

}  // namespace weft::harness
