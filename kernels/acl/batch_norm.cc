// SPDX-License-Identifier: Apache-2.0
// Batch normalisation with a joined activation, channel by channel: x^ = (x - mean) * inverse and
// dst = activation(gamma * x^ + beta), where inverse is 1 / sqrt(variance + eps) over the N * H * W
// values of a channel. Sums are taken in float over short runs and joined in double.
// Loops that may work in place are told (ivdep) that no value depends on its neighbours.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/acl/activation.h"
#include "kernels/acl/offers.h"
#include "kernels/acl/sums.h"

namespace weft::acl {
namespace {

// Forward's note: mean and inverse, float32 [C] each.
constexpr std::string_view kSavedFormat = "mean_inverse";

struct Planes {
  explicit Planes(const OpSpec& op)
      : images(op.dst[0]), channels(op.dst[1]), plane(op.dst[2] * op.dst[3]) {}

  // Calls piece(place, count) for the parts of channel c, each neighbours and short.
  template <typename Piece>
  void ForPieces(int64_t c, const Piece& piece) const {
    for (int64_t n = 0; n < images; ++n) {
      const int64_t first = (n * channels + c) * plane;
      ForRuns(plane, [&](int64_t begin, int64_t end) { piece(first + begin, end - begin); });
    }
  }

  double values() const { return static_cast<double>(images * plane); }  // of one channel

  int64_t images;
  int64_t channels;
  int64_t plane;
};

struct Moments {
  double mean;
  double squares;  // of the distances to it, summed
};

// The mean of each piece first and the distances to that second, joined as they come (Chan, Golub
// and LeVeque): nothing is lost where the mean is large against the spread.
Moments MomentsOf(const Planes& shape, const float* src, int64_t c) {
  Moments all{0, 0};
  double count = 0;
  shape.ForPieces(c, [&](int64_t place, int64_t length) {
    const float* x = src + place;
    const auto more = static_cast<double>(length);
    float total = 0;
    for (int64_t i = 0; i < length; ++i) total += x[i];
    const float about = total / static_cast<float>(length);
    float rest = 0;  // what rounding has left of the mean
    float squares = 0;
    for (int64_t i = 0; i < length; ++i) {
      const float distance = x[i] - about;
      rest += distance;
      squares += distance * distance;
    }
    const double left = rest;
    const double mean = about + left / more;
    const double distance = mean - all.mean;
    all.mean += distance * (more / (count + more));
    all.squares += squares - left * left / more;
    all.squares += distance * distance * (count * more / (count + more));
    count += more;
  });
  return all;
}

template <Activation kActivation>
void Apply(const Planes& shape, int64_t c, float mean, float scale, float beta,
           const KernelArgs& args) {
  shape.ForPieces(c, [&](int64_t place, int64_t length) {
    const float* x = args.srcs[0] + place;
    float* y = args.dst + place;
#pragma GCC ivdep
    for (int64_t i = 0; i < length; ++i) {
      y[i] = Activate<kActivation>((x[i] - mean) * scale + beta);
    }
  });
}

template <Activation kActivation>
void ForwardTraining(const Planes& shape, const model::BatchNorm& norm, const KernelArgs& args,
                     int64_t c) {
  const Moments moments = MomentsOf(shape, args.srcs[0], c);
  const double variance = moments.squares / shape.values();
  auto* means = reinterpret_cast<float*>(args.saved);  // [C]
  float* inverses = means + shape.channels;            // [C]
  means[c] = static_cast<float>(moments.mean);
  inverses[c] = static_cast<float>(1 / std::sqrt(variance + norm.eps));
  Apply<kActivation>(shape, c, means[c], inverses[c] * args.params[0][c], args.params[1][c], args);
  if (args.again) return;
  const double unbiased = moments.squares / std::max(shape.values() - 1, 1.0);
  float& mean = args.running[0][c];
  float& spread = args.running[1][c];
  mean = static_cast<float>(mean + norm.momentum * (moments.mean - mean));
  spread = static_cast<float>(spread + norm.momentum * (unbiased - spread));
}

template <Activation kActivation>
void ForwardInference(const Planes& shape, const model::BatchNorm& norm, const KernelArgs& args,
                      int64_t c) {
  const double inverse = 1 / std::sqrt(args.running[1][c] + norm.eps);
  Apply<kActivation>(shape, c, args.running[0][c], static_cast<float>(args.params[0][c] * inverse),
                     args.params[1][c], args);
}

// With g the gradient in front of the activation: d_beta = sum of g, d_gamma = sum of g * x^, and
// d_src = gamma * inverse * (g - d_beta / m - x^ * d_gamma / m), m values to a channel.
template <Activation kActivation>
void BackwardData(const Planes& shape, const model::BatchNorm&, const KernelArgs& args, int64_t c) {
  const auto* means = reinterpret_cast<const float*>(args.saved);  // [C]
  const float mean = means[c];
  const float inverse = means[shape.channels + c];
  const auto gradient = [](const float* dst, const float* d_dst, int64_t i) {
    if constexpr (kActivation == Activation::kNone) return d_dst[i];
    return ActivateBackward<kActivation>(dst[i], d_dst[i]);
  };
  double d_beta = 0;
  double scaled = 0;  // sum of g * (x - mean)
  shape.ForPieces(c, [&](int64_t place, int64_t length) {
    const float* x = args.srcs[0] + place;
    const float* dst = kActivation == Activation::kNone ? nullptr : args.dst + place;
    const float* d_dst = args.d_dst + place;
    float plain_sum = 0;
    float scaled_sum = 0;
    for (int64_t i = 0; i < length; ++i) {
      const float g = gradient(dst, d_dst, i);
      plain_sum += g;
      scaled_sum += g * (x[i] - mean);
    }
    d_beta += plain_sum;
    scaled += scaled_sum;
  });
  const double d_gamma = scaled * inverse;
  args.d_params[0][c] = static_cast<float>(d_gamma);
  args.d_params[1][c] = static_cast<float>(d_beta);

  const float scale = inverse * args.params[0][c];
  const auto shift = static_cast<float>(d_beta / shape.values());
  const auto slope = static_cast<float>(inverse * d_gamma / shape.values());
  shape.ForPieces(c, [&](int64_t place, int64_t length) {
    const float* x = args.srcs[0] + place;
    const float* dst = kActivation == Activation::kNone ? nullptr : args.dst + place;
    const float* d_dst = args.d_dst + place;
    float* d_src = args.d_srcs[0] + place;
#pragma GCC ivdep
    for (int64_t i = 0; i < length; ++i) {
      d_src[i] = scale * (gradient(dst, d_dst, i) - shift - (x[i] - mean) * slope);
    }
  });
}

using Body = void (*)(const Planes&, const model::BatchNorm&, const KernelArgs&, int64_t c);

}  // namespace

void Offer(const model::BatchNorm& norm, const OpSpec& op, Role role, const Device& device,
           Offers& offers) {
  if (role == Role::kBackwardWeights) return;
  Facts facts{.in_place = true};
  if (op.training) {
    facts.saved_bytes = 2 * static_cast<size_t>(op.dst[1]) * sizeof(float);
    facts.saved_format = kSavedFormat;
  }
  if (role == Role::kBackwardData) {
    facts.reads_src = true;
    facts.over_src = true;
    facts.reads_dst = op.activation != Activation::kNone;
  }
  const Body body = WithActivation(op.activation, [&]<Activation kActivation>() -> Body {
    if (role == Role::kBackwardData) return BackwardData<kActivation>;
    return op.training ? ForwardTraining<kActivation> : ForwardInference<kActivation>;
  });
  const Planes shape(op);
  offers.push_back(
      MakeKernel(facts, [&parallel = device.parallel, shape, norm, body](const KernelArgs& args) {
        parallel.For(shape.channels, [&](int64_t begin, int64_t end) {
          for (int64_t c = begin; c < end; ++c) body(shape, norm, args, c);
        });
      }));
}

}  // namespace weft::acl
