// SPDX-License-Identifier: Apache-2.0
// The reference against PyTorch, forward and autograd, on every op that PyTorch has too. The values
// are those that golden/write_golden.py wrote down, compiled in so that the suite also runs where
// the sources are not.
#include <cstddef>
#include <map>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "tests/op_harness/op_compare.h"
#include "tests/op_harness/op_harness.h"
#include "tests/op_harness/small_ops.h"

#include <CppUTest/TestHarness.h>

namespace weft::harness {
namespace {

constexpr const char* kGolden =
#include "tests/kernels/golden/small_ops.inc"
    ;

// By "op tensor", the tensors in order.
std::map<std::string, std::vector<std::vector<float>>> ReadGolden() {
  std::map<std::string, std::vector<std::vector<float>>> golden;
  std::istringstream text(kGolden);
  for (std::string line; std::getline(text, line);) {
    if (line.empty()) continue;
    std::istringstream words(line);
    std::string op, tensor;
    words >> op >> tensor;
    std::vector<float> values;
    for (float value; words >> value;) values.push_back(value);
    golden[op + " " + tensor].push_back(values);
  }
  return golden;
}

// Sums in double, rounded once: a float32 rounding, and the eighth digit of the text.
constexpr double kTolerance = 1.5e-7;

}  // namespace

TEST_GROUP(RefGolden){};

TEST(RefGolden, AgreesWithPyTorchForwardAndBackward) {
  const auto golden = ReadGolden();
  size_t compared = 0;
  for (const SmallOp& small : SmallOps()) {
    // PyTorch draws other masks.
    if (std::holds_alternative<model::Dropout>(small.op.layer)) continue;
    const OpResult result = RunRef(small.op, MakeData(small.op, Fill::kGrid));
    STRCMP_EQUAL("", result.breach.c_str());
    const auto compare = [&](const char* tensor, const std::vector<std::vector<float>>& got) {
      if (got.empty()) return;
      const std::string key = std::string(small.name) + " " + tensor;
      CHECK_TRUE_TEXT(golden.contains(key), key.c_str());
      const auto& want = golden.at(key);
      LONGS_EQUAL_TEXT(want.size(), got.size(), key.c_str());
      for (size_t i = 0; i < got.size(); ++i) {
        DOUBLES_EQUAL_TEXT(0, RelativeError(got[i], want[i]), kTolerance, key.c_str());
      }
      ++compared;
    };
    compare("dst", {result.dst});
    compare("running", result.running);
    compare("d_src", result.d_srcs);
    compare("d_param", result.d_params);
  }
  LONGS_EQUAL(golden.size(), compared);
}

}  // namespace weft::harness
