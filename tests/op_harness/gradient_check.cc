// SPDX-License-Identifier: Apache-2.0
#include "tests/op_harness/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "tests/op_harness/op_harness.h"

namespace weft::harness {
namespace {

// Two errors pull at the step h. Rounding: an output is a float32 of some tens at most, off by
// 1e-6; up to 100 of them move with a value and count up to threefold, which makes some 1e-5 of
// their sum and, over 2h, 1e-3 of a slope; the largest slopes are 5 to 50, so 1e-4 of those is to
// be expected. Truncation, in BatchNorm only, is h^2 / 6 of a third derivative that is no larger
// than the slope: 1e-5. Seen: 7e-5.
constexpr double kStep = 1.0 / 128;
constexpr double kTolerance = 5e-4;  // of the largest gradient in the tensor

// On which side of the activation's kinks an output lies.
int Side(Activation activation, float dst) {
  if (activation == Activation::kNone) return 0;
  if (dst <= 0) return -1;
  return activation == Activation::kRelu6 && dst >= 6 ? 1 : 0;
}

Activation KinksOf(const OpSpec& op) {
  if (std::holds_alternative<model::Relu>(op.layer)) return Activation::kRelu;
  if (std::holds_alternative<model::Relu6>(op.layer)) return Activation::kRelu6;
  return op.activation;
}

// What moving `x`, one of the values in `data`, does to sum(d_dst * dst). None if a kink is in
// between.
std::optional<double> Slope(const OpSpec& op, Kernel& forward, const OpData& data, float& x) {
  const float there = x;
  x = static_cast<float>(there + kStep);
  const double up = x;
  const std::vector<float> dst_up = RunOp(op, data, {.forward = &forward}).dst;
  x = static_cast<float>(there - kStep);
  const double down = x;
  const std::vector<float> dst_down = RunOp(op, data, {.forward = &forward}).dst;
  x = there;
  const Activation kinks = KinksOf(op);
  double sum = 0;
  for (size_t i = 0; i < dst_up.size(); ++i) {
    if (Side(kinks, dst_up[i]) != Side(kinks, dst_down[i])) return std::nullopt;
    sum += data.d_dst[i] * (static_cast<double>(dst_up[i]) - dst_down[i]);
  }
  return sum / (up - down);
}

// `slope_of` one of `values`.
template <typename SlopeOf>
std::string CheckTensor(const std::string& what, std::vector<float>& values,
                        const std::vector<float>& gradient, const SlopeOf& slope_of) {
  if (gradient.size() != values.size()) return what + " has no gradient";
  std::vector<std::optional<double>> slopes;
  double largest = 0;
  size_t skipped = 0;
  for (float& value : values) {
    slopes.push_back(slope_of(value));
    if (!slopes.back()) ++skipped;
    largest = std::max(largest, std::fabs(slopes.back().value_or(0)));
  }
  if (2 * skipped > values.size()) return "too many kinks in " + what;
  for (size_t i = 0; i < values.size(); ++i) {
    // Written so that NaN is refused too.
    if (!slopes[i] || std::fabs(gradient[i] - *slopes[i]) <= kTolerance * largest) continue;
    return "gradient " + std::to_string(i) + " of " + what + " is " + std::to_string(gradient[i]) +
           ", the slope " + std::to_string(*slopes[i]) + ", the largest " + std::to_string(largest);
  }
  return "";
}

}  // namespace

std::string CheckGradients(const OpSpec& op, Backend& backend, Fill fill) {
  const auto forward = backend.Offer(op, Role::kForward);
  const auto backward_data = backend.Offer(op, Role::kBackwardData);
  const auto backward_weights = backend.Offer(op, Role::kBackwardWeights);
  if (forward.empty() || backward_data.empty()) return Describe(op) + ": not offered";
  OpData data = MakeData(op, fill);
  const OpResult result = RunOp(op, data,
                                {forward[0].get(), backward_data[0].get(),
                                 backward_weights.empty() ? nullptr : backward_weights[0].get()});
  if (!result.breach.empty()) return Describe(op) + ": " + result.breach;

  const auto slope_of = [&](float& value) { return Slope(op, *forward[0], data, value); };
  const auto check = [&](const char* what, std::vector<std::vector<float>>& tensors,
                         const std::vector<std::vector<float>>& gradients) -> std::string {
    if (gradients.size() != tensors.size()) return std::string("not every ") + what + " has one";
    for (size_t i = 0; i < tensors.size(); ++i) {
      std::string wrong = CheckTensor(what + std::to_string(i), tensors[i], gradients[i], slope_of);
      if (!wrong.empty()) return wrong;
    }
    return "";
  };
  std::string wrong = check("src ", data.srcs, result.d_srcs);
  if (wrong.empty()) wrong = check("param ", data.params, result.d_params);
  return wrong.empty() ? "" : Describe(op) + ": " + wrong;
}

}  // namespace weft::harness
