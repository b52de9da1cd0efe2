// SPDX-License-Identifier: Apache-2.0
#include <variant>

#include "core/parallel.h"
#include "kernels/ref/backend.h"
#include "tests/op_harness/gradient_check.h"
#include "tests/op_harness/small_ops.h"

#include <CppUTest/TestHarness.h>

namespace weft::harness {
namespace {

// Without parameters the values can be kept away from every kink; a sum of products cannot, but
// should not grow either.
Fill FillFor(const OpSpec& op) {
  return model::IsWeighted(op.layer) || std::holds_alternative<model::BatchNorm>(op.layer)
             ? Fill::kUniform
             : Fill::kSpread;
}

}  // namespace

TEST_GROUP(RefGradients){};

TEST(RefGradients, AreTheSlopesOfForward) {
  Serial serial;
  ref::RefBackend backend(serial);
  for (const SmallOp& small : SmallOps()) {
    if (!small.op.training) continue;
    STRCMP_EQUAL("", CheckGradients(small.op, backend, FillFor(small.op)).c_str());
  }
}

}  // namespace weft::harness
