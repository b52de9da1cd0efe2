// SPDX-License-Identifier: Apache-2.0
// The loops are written for the compiler to vectorise, which CMakeLists.txt asks of it for this
// file. It also forbids fused multiply-adds, so that a vector's lanes, a loop's tail and every
// machine round alike.
#include "core/train/optimizer.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

namespace weft::train {
namespace {

// Parameters that go to one thread at a time: enough to be worth waking it, and a whole number of
// cache lines.
constexpr int64_t kGrain = 16384;

// `base` to the power of `exponent` by multiplications alone, which round alike everywhere.
double Power(double base, int64_t exponent) {
  double power = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) power *= base;
  }
  return power;
}

// The numbers of one step, rounded to what the loops compute with.
struct SgdStep {
  SgdStep(const Sgd& sgd, const OptimizerStep& step)
      : rate(static_cast<float>(step.learning_rate)),
        momentum(static_cast<float>(sgd.momentum)),
        decay(static_cast<float>(sgd.weight_decay)) {}

  float rate;
  float momentum;
  float decay;
};

// The exponent of infinity and of no number at all, and of nothing else.
constexpr uint32_t kNotFinite = 0x7f800000;

uint32_t Exponent(float value) { return std::bit_cast<uint32_t>(value) & kNotFinite; }

// Each loop moves `count` parameters and returns the largest exponent of their gradients.

uint32_t MovePlain(const SgdStep step, float* __restrict w, const float* __restrict g,
                   int64_t count) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, Exponent(g[i]));
    w[i] -= step.rate * (g[i] + step.decay * w[i]);
  }
  return largest;
}

// torch.optim copies the gradient into the momentum in its first step. Zero times momentum plus
// the gradient is the same.
template <bool Nesterov>
uint32_t MoveWithMomentum(const SgdStep step, float* __restrict w, const float* __restrict g,
                          float* __restrict momentum, int64_t count) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, Exponent(g[i]));
    const float d = g[i] + step.decay * w[i];
    const float m = step.momentum * momentum[i] + d;
    momentum[i] = m;
    w[i] -= step.rate * (Nesterov ? d + step.momentum * m : m);
  }
  return largest;
}

struct AdamWStep {
  AdamWStep(const AdamW& adamw, const OptimizerStep& step)
      : keep(static_cast<float>(1 - step.learning_rate * adamw.weight_decay)),
        beta1(static_cast<float>(adamw.beta1)),
        beta2(static_cast<float>(adamw.beta2)),
        other1(static_cast<float>(1 - adamw.beta1)),
        other2(static_cast<float>(1 - adamw.beta2)),
        rate(static_cast<float>(step.learning_rate / (1 - Power(adamw.beta1, step.number)))),
        unbias2(static_cast<float>(1 / std::sqrt(1 - Power(adamw.beta2, step.number)))),
        eps(static_cast<float>(adamw.eps)) {}

  float keep;  // of the parameter, after its decay
  float beta1, beta2;
  float other1, other2;  // 1 - beta
  float rate;            // corrected for the zero that the mean started from
  float unbias2;         // the same correction for the root of the mean square
  float eps;
};

uint32_t MoveAdamW(const AdamWStep step, float* __restrict w, const float* __restrict g,
                   float* __restrict mean, float* __restrict square, int64_t count) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, Exponent(g[i]));
    const float m = step.beta1 * mean[i] + step.other1 * g[i];
    const float v = step.beta2 * square[i] + step.other2 * g[i] * g[i];
    mean[i] = m;
    square[i] = v;
    w[i] = step.keep * w[i] - step.rate * m / (std::sqrt(v) * step.unbias2 + step.eps);
  }
  return largest;
}

// Calls move(begin, count) for runs that together are [begin, end). Whether the exponents they
// return are those of finite numbers.
template <typename Move>
bool ForGrains(int64_t begin, int64_t end, Parallel& parallel, const Move& move) {
  std::atomic<bool> finite = true;
  const auto run = [&](int64_t first, int64_t last) {
    const int64_t from = begin + first * kGrain;
    const uint32_t largest = move(from, std::min(begin + last * kGrain, end) - from);
    if (largest == kNotFinite) finite.store(false, std::memory_order_relaxed);
  };
  // A reference fits into std::function without an allocation; `run` itself would not.
  parallel.For((end - begin + kGrain - 1) / kGrain, std::ref(run));
  return finite;
}

// Whether `value` is in [0, 1), which a NaN is not.
bool IsShare(double value) { return value >= 0 && value < 1; }

bool IsAmount(double value) { return value >= 0 && std::isfinite(value); }

Status Refusal(const char* what, const char* range, double value) {
  return Status::InvalidInput(std::string(what) + " must be " + range + ", not " +
                              std::to_string(value));
}

Status Check(const Sgd& sgd) {
  if (!IsShare(sgd.momentum)) return Refusal("momentum", "from 0 to below 1", sgd.momentum);
  if (!IsAmount(sgd.weight_decay)) return Refusal("weight decay", "0 or more", sgd.weight_decay);
  if (sgd.nesterov && sgd.momentum == 0) {
    return Status::InvalidInput("Nesterov's step needs a momentum above 0; give both or neither");
  }
  return Status::Ok();
}

Status Check(const AdamW& adamw) {
  if (!IsShare(adamw.beta1)) return Refusal("beta1", "from 0 to below 1", adamw.beta1);
  if (!IsShare(adamw.beta2)) return Refusal("beta2", "from 0 to below 1", adamw.beta2);
  if (!IsAmount(adamw.eps)) return Refusal("eps", "0 or more", adamw.eps);
  if (!IsAmount(adamw.weight_decay)) {
    return Refusal("weight decay", "0 or more", adamw.weight_decay);
  }
  return Status::Ok();
}

}  // namespace

Result<Optimizer> Optimizer::Create(const OptimizerSpec& spec) {
  if (Status status = std::visit([](const auto& s) { return Check(s); }, spec); !status.ok()) {
    return status;
  }
  return Optimizer(spec);
}

int Optimizer::state_per_parameter() const {
  if (std::holds_alternative<AdamW>(spec_)) return 2;
  return std::get<Sgd>(spec_).momentum == 0 ? 0 : 1;
}

bool Optimizer::Apply(const OptimizerStep& step, const OptimizerArrays& arrays, int64_t begin,
                      int64_t end, Parallel& parallel) const {
  const int64_t count = std::ssize(arrays.parameters);
  assert(step.number >= 1 && step.learning_rate >= 0);
  assert(0 <= begin && begin <= end && end <= count);
  const int64_t first = arrays.gradients_begin;
  assert(first <= begin && end <= first + std::ssize(arrays.gradients));
  assert(std::ssize(arrays.state) == state_per_parameter() * count);
  float* const w = arrays.parameters.data();
  const auto g = [&](int64_t at) { return arrays.gradients.data() + (at - first); };
  float* const state = arrays.state.data();

  if (const auto* adamw = std::get_if<AdamW>(&spec_)) {
    const AdamWStep numbers(*adamw, step);
    return ForGrains(begin, end, parallel, [&](int64_t at, int64_t length) {
      return MoveAdamW(numbers, w + at, g(at), state + at, state + count + at, length);
    });
  }
  const Sgd& sgd = std::get<Sgd>(spec_);
  const SgdStep numbers(sgd, step);
  return ForGrains(begin, end, parallel, [&](int64_t at, int64_t length) {
    if (sgd.momentum == 0) return MovePlain(numbers, w + at, g(at), length);
    if (sgd.nesterov) {
      return MoveWithMomentum<true>(numbers, w + at, g(at), state + at, length);
    }
    return MoveWithMomentum<false>(numbers, w + at, g(at), state + at, length);
  });
}

}  // namespace weft::train
