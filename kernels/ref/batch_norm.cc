// SPDX-License-Identifier: Apache-2.0
// Batch normalisation, channel by channel: x^ = (src - mean) / sqrt(variance + eps) and
// dst = activation(gamma * x^ + beta), over the m = N * H * W values of the channel.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>

#include "kernels/ref/activation.h"
#include "kernels/ref/op_kernel.h"

namespace weft::ref {
namespace {

// Forward's note: the batch's mean and biased variance, float32 [C] each.
constexpr std::string_view kSavedFormat = "mean_variance";

struct Geometry {
  explicit Geometry(const OpSpec& op)
      : images(op.dst[0]), channels(op.dst[1]), plane(op.dst[2] * op.dst[3]) {}

  int64_t values() const { return images * plane; }  // of one channel

  // Calls value(i) with the place of each value of channel c.
  template <typename Value>
  void ForEach(int64_t c, const Value& value) const {
    for (int64_t n = 0; n < images; ++n) {
      const int64_t first = (n * channels + c) * plane;
      for (int64_t i = first; i < first + plane; ++i) value(i);
    }
  }

  int64_t images;
  int64_t channels;
  int64_t plane;
};

// How a channel is brought to mean 0 and variance 1.
struct Scale {
  Scale(double mean_of_channel, double variance, double eps)
      : mean(mean_of_channel), inverse(1 / std::sqrt(variance + eps)) {}

  double operator()(double x) const { return (x - mean) * inverse; }

  double mean;
  double inverse;
};

void Normalise(const Geometry& g, const OpSpec& op, const KernelArgs& args, int64_t c,
               const Scale& scale) {
  const double gamma = args.params[0][c];
  const double beta = args.params[1][c];
  g.ForEach(c, [&](int64_t i) {
    const double y = gamma * scale(args.srcs[0][i]) + beta;
    args.dst[i] = static_cast<float>(Activate(op.activation, y));
  });
}

void MoveTowards(float& running, double batch, double momentum) {
  running = static_cast<float>(running + momentum * (batch - running));
}

void ForwardTraining(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  const Geometry g(op);
  const auto& norm = std::get<model::BatchNorm>(op.layer);
  const float* src = args.srcs[0];
  auto* saved = reinterpret_cast<float*>(args.saved);  // mean [C], variance [C]
  parallel.For(g.channels, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      double sum = 0;
      g.ForEach(c, [&](int64_t i) { sum += src[i]; });
      const auto values = static_cast<double>(g.values());
      const double mean = sum / values;
      double squares = 0;
      g.ForEach(c, [&](int64_t i) { squares += (src[i] - mean) * (src[i] - mean); });
      const double variance = squares / values;
      Normalise(g, op, args, c, Scale(mean, variance, norm.eps));

      saved[c] = static_cast<float>(mean);
      saved[g.channels + c] = static_cast<float>(variance);
      if (args.again) continue;
      // A single value has no unbiased variance; PyTorch refuses it, here it counts as 0.
      MoveTowards(args.running[0][c], mean, norm.momentum);
      MoveTowards(args.running[1][c], squares / std::max(values - 1, 1.0), norm.momentum);
    }
  });
}

void ForwardInference(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  const Geometry g(op);
  const double eps = std::get<model::BatchNorm>(op.layer).eps;
  parallel.For(g.channels, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      Normalise(g, op, args, c, Scale(args.running[0][c], args.running[1][c], eps));
    }
  });
}

// With g the gradient in front of the activation: d_beta = sum of g, d_gamma = sum of g * x^, and
// d_src = gamma / sqrt(variance + eps) * (g - d_beta / m - x^ * d_gamma / m).
void BackwardData(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  const Geometry g(op);
  const double eps = std::get<model::BatchNorm>(op.layer).eps;
  const float* src = args.srcs[0];
  const auto* saved = reinterpret_cast<const float*>(args.saved);  // mean [C], variance [C]
  const auto gradient = [&](int64_t i) -> double {
    if (op.activation == Activation::kNone) return args.d_dst[i];
    return ActivateBackward(op.activation, args.dst[i], args.d_dst[i]);
  };
  parallel.For(g.channels, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const Scale scale(saved[c], saved[g.channels + c], eps);
      double d_beta = 0;
      double d_gamma = 0;
      g.ForEach(c, [&](int64_t i) {
        d_beta += gradient(i);
        d_gamma += gradient(i) * scale(src[i]);
      });
      args.d_params[0][c] = static_cast<float>(d_gamma);
      args.d_params[1][c] = static_cast<float>(d_beta);

      const auto values = static_cast<double>(g.values());
      const double slope = args.params[0][c] * scale.inverse;
      g.ForEach(c, [&](int64_t i) {
        const double centred = gradient(i) - d_beta / values - scale(src[i]) * d_gamma / values;
        args.d_srcs[0][i] = static_cast<float>(slope * centred);
      });
    }
  });
}

}  // namespace

Prepared Prepare(const model::BatchNorm& norm, const OpSpec& op, Role role, Parallel& parallel) {
  const size_t saved_bytes = 2 * norm.channels * sizeof(float);
  switch (role) {
    case Role::kForward:
      if (!op.training) return MakeKernel(op, parallel, ForwardInference, {.in_place = true});
      return MakeKernel(
          op, parallel, ForwardTraining,
          {.saved_bytes = saved_bytes, .saved_format = kSavedFormat, .in_place = true});
    case Role::kBackwardData:
      return MakeKernel(op, parallel, BackwardData,
                        {.saved_bytes = saved_bytes,
                         .saved_format = kSavedFormat,
                         .reads_src = true,
                         .reads_dst = op.activation != Activation::kNone,
                         .in_place = true});
    case Role::kBackwardWeights:
      break;
  }
  return nullptr;
}

}  // namespace weft::ref
