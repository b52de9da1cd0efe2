// SPDX-License-Identifier: Apache-2.0
// Batch normalisation with a joined activation, a block of channels at a time: x^ = (x - mean) *
// inverse and dst = activation(gamma * x^ + beta), where inverse is 1 / sqrt(variance + eps) over
// the N * H * W values of a channel. Each pass reads memory once: statistics are taken from short
// runs that stay in the first cache and joined in double.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/onednn/activation.h"
#include "kernels/onednn/offers.h"
#include "kernels/onednn/wide.h"

namespace weft::onednn {
namespace {

// Forward's note: mean and inverse, float32, each with room for whole blocks of channels.
constexpr std::string_view kSavedFormat = "mean_inverse_blocked";

constexpr int64_t kRunCells = 128;

struct Geometry {
  Geometry(const OpSpec& op, int block_size)
      : images(op.dst[0]),
        channels(op.dst[1]),
        cells(op.dst[2] * op.dst[3]),
        block(block_size),
        blocks((channels + block_size - 1) / block_size) {}

  int64_t values() const { return images * cells; }  // of one channel
  // Where in a tensor of vectors image n's block b begins.
  int64_t Place(int64_t b, int64_t n) const { return (n * blocks + b) * cells; }
  size_t saved_bytes() const { return 2 * blocks * block * sizeof(float); }
  size_t scratch_bytes() const { return 2 * blocks * images * block * sizeof(double); }
  // With few blocks the threads share out the images, too.
  bool SharesImages(int threads) const { return blocks % threads != 0 && blocks < 4 * threads; }

  int64_t images;
  int64_t channels;
  int64_t cells;
  int64_t block;
  int64_t blocks;
};

// The values of block b in a plain array [C]; 0 beyond its end.
template <int kBlock>
WEFT_WIDE inline Vec<kBlock> Load(const Geometry& g, const float* values, int64_t b) {
  Vec<kBlock> lanes{};
  for (int64_t c = b * kBlock; c < std::min((b + 1) * kBlock, g.channels); ++c) {
    lanes[c - b * kBlock] = values[c];
  }
  return lanes;
}

template <int kBlock>
WEFT_WIDE inline void Store(const Geometry& g, Vec<kBlock> lanes, float* values, int64_t b) {
  for (int64_t c = b * kBlock; c < std::min((b + 1) * kBlock, g.channels); ++c) {
    values[c] = lanes[c - b * kBlock];
  }
}

// Two sums of every channel of a block. Forward: the mean, and the squares of the distances to it.
// Backward: the gradients, and the gradients times the distances to the mean.
template <int kBlock>
struct Sums {
  using Double = typename VecOf<kBlock>::Double;
  Double first;
  Double second;
};

// Joins the mean and squares of `more_count` values to those of `count` (Chan, Golub and LeVeque).
template <int kBlock>
WEFT_WIDE inline void JoinMoments(Sums<kBlock>& moments, int64_t count, const Sums<kBlock>& more,
                                  int64_t more_count) {
  const auto total = static_cast<double>(count + more_count);
  const auto distance = more.first - moments.first;
  moments.first += distance * (static_cast<double>(more_count) / total);
  moments.second +=
      more.second +
      distance * distance * (static_cast<double>(count) * static_cast<double>(more_count) / total);
}

// Calls run(begin, end) for the short runs of a row of cells.
template <typename Run>
WEFT_WIDE inline void ForRuns(int64_t cells, const Run& run) {
  for (int64_t begin = 0; begin < cells; begin += kRunCells) {
    run(begin, std::min(begin + kRunCells, cells));
  }
}

template <int kBlock>
struct ForwardPass {
  using Float = Vec<kBlock>;
  using Double = typename VecOf<kBlock>::Double;

  Geometry g;
  const Float* src;
  Float* dst;

  WEFT_WIDE Sums<kBlock> Moments(int64_t b, int64_t n) const {
    const Float* x = src + g.Place(b, n);
    Sums<kBlock> moments{};
    ForRuns(g.cells, [&](int64_t begin, int64_t end) WEFT_WIDE {
      const auto count = static_cast<float>(end - begin);
      Float total[2]{};
      for (int64_t i = begin; i < end; ++i) total[i & 1] += x[i];
      const Float about = (total[0] + total[1]) / count;
      // What rounding has left of the mean comes out of the second look.
      Float rest[2]{};
      Float squares[2]{};
      for (int64_t i = begin; i < end; ++i) {
        const Float distance = x[i] - about;
        rest[i & 1] += distance;
        squares[i & 1] += distance * distance;
      }
      const Float left = rest[0] + rest[1];
      const Float square = squares[0] + squares[1] - left * left / count;
      const Sums<kBlock> run{
          __builtin_convertvector(about, Double) + __builtin_convertvector(left / count, Double),
          __builtin_convertvector(square, Double)};
      JoinMoments<kBlock>(moments, begin, run, end - begin);
    });
    return moments;
  }

  template <Activation kActivation>
  WEFT_WIDE void Apply(int64_t b, int64_t n, Float mean, Float scale, Float beta) const {
    const Float* x = src + g.Place(b, n);
    Float* y = dst + g.Place(b, n);
    for (int64_t i = 0; i < g.cells; ++i) {
      y[i] = Activate<kActivation>((x[i] - mean) * scale + beta);
    }
  }
};

// Runs over(b, n) for every image of every block and then finish(b) and apply(b, n), either block
// by block, so that apply finds in the cache what over has read, or with the images shared out.
template <int kBlock, typename Over, typename Finish, typename Apply>
void TwoPasses(const Device& device, const Geometry& g, const Over& over, const Finish& finish,
               const Apply& apply) {
  if (!g.SharesImages(device.threads)) {
    ForWide<kBlock>(device, g.blocks, [&](int64_t begin, int64_t end) WEFT_WIDE {
      for (int64_t b = begin; b < end; ++b) {
        for (int64_t n = 0; n < g.images; ++n) over(b, n);
        finish(b);
        for (int64_t n = 0; n < g.images; ++n) apply(b, n);
      }
    });
    return;
  }
  ForWide<kBlock>(device, g.blocks * g.images, [&](int64_t begin, int64_t end) WEFT_WIDE {
    for (int64_t i = begin; i < end; ++i) over(i / g.images, i % g.images);
  });
  ForWide<kBlock>(device, g.blocks, [&](int64_t begin, int64_t end) WEFT_WIDE {
    for (int64_t b = begin; b < end; ++b) finish(b);
  });
  ForWide<kBlock>(device, g.blocks * g.images, [&](int64_t begin, int64_t end) WEFT_WIDE {
    for (int64_t i = begin; i < end; ++i) apply(i / g.images, i % g.images);
  });
}

template <int kBlock>
ForwardPass<kBlock> MakeForwardPass(const Geometry& g, const KernelArgs& args) {
  return {g, reinterpret_cast<const Vec<kBlock>*>(args.srcs[0]),
          reinterpret_cast<Vec<kBlock>*>(args.dst)};
}

template <int kBlock, Activation kActivation>
void ForwardTraining(const Device& device, const Geometry& g, const model::BatchNorm& norm,
                     const KernelArgs& args) {
  using Float = Vec<kBlock>;
  const auto pass = MakeForwardPass<kBlock>(g, args);
  auto* moments = reinterpret_cast<Sums<kBlock>*>(args.scratch);  // [blocks][images]
  auto* means = reinterpret_cast<Float*>(args.saved);             // [blocks]
  Float* inverses = means + g.blocks;                             // [blocks]
  const auto apply = [&](int64_t b, int64_t n) WEFT_WIDE {
    pass.template Apply<kActivation>(b, n, means[b],
                                     inverses[b] * Load<kBlock>(g, args.params[0], b),
                                     Load<kBlock>(g, args.params[1], b));
  };
  if (args.again) {  // the note still holds the statistics
    ForWide<kBlock>(device, g.blocks * g.images, [&](int64_t begin, int64_t end) WEFT_WIDE {
      for (int64_t i = begin; i < end; ++i) apply(i / g.images, i % g.images);
    });
    return;
  }
  TwoPasses<kBlock>(
      device, g,
      [&](int64_t b, int64_t n) WEFT_WIDE { moments[b * g.images + n] = pass.Moments(b, n); },
      [&](int64_t b) WEFT_WIDE {
        Sums<kBlock> all{};
        for (int64_t n = 0; n < g.images; ++n) {
          JoinMoments<kBlock>(all, n * g.cells, moments[b * g.images + n], g.cells);
        }
        const auto values = static_cast<double>(g.values());
        const auto variance = all.second / values;
        const auto unbiased = all.second / std::max(values - 1, 1.0);
        for (int lane = 0; lane < kBlock; ++lane) {
          means[b][lane] = static_cast<float>(all.first[lane]);
          inverses[b][lane] = static_cast<float>(1 / std::sqrt(variance[lane] + norm.eps));
          const int64_t c = b * kBlock + lane;
          if (c >= g.channels) continue;
          float& mean = args.running[0][c];
          float& spread = args.running[1][c];
          mean = static_cast<float>(mean + norm.momentum * (all.first[lane] - mean));
          spread = static_cast<float>(spread + norm.momentum * (unbiased[lane] - spread));
        }
      },
      apply);
}

template <int kBlock, Activation kActivation>
void ForwardInference(const Device& device, const Geometry& g, const model::BatchNorm& norm,
                      const KernelArgs& args) {
  const auto pass = MakeForwardPass<kBlock>(g, args);
  ForWide<kBlock>(device, g.blocks * g.images, [&](int64_t begin, int64_t end) WEFT_WIDE {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / g.images;
      Vec<kBlock> scale = Load<kBlock>(g, args.params[0], b);
      const Vec<kBlock> variance = Load<kBlock>(g, args.running[1], b);
      for (int lane = 0; lane < kBlock; ++lane) {
        scale[lane] = static_cast<float>(scale[lane] / std::sqrt(variance[lane] + norm.eps));
      }
      pass.template Apply<kActivation>(b, i % g.images, Load<kBlock>(g, args.running[0], b), scale,
                                       Load<kBlock>(g, args.params[1], b));
    }
  });
}

// With g the gradient in front of the activation: d_beta = sum of g, d_gamma = sum of g * x^, and
// d_src = gamma * inverse * (g - d_beta / m - x^ * d_gamma / m), m values to a channel.
template <int kBlock, Activation kActivation>
void BackwardData(const Device& device, const Geometry& g, const model::BatchNorm&,
                  const KernelArgs& args) {
  using Float = Vec<kBlock>;
  using Double = typename VecOf<kBlock>::Double;
  const auto* src = reinterpret_cast<const Float*>(args.srcs[0]);
  const auto* d_dst = reinterpret_cast<const Float*>(args.d_dst);
  auto* d_src = reinterpret_cast<Float*>(args.d_srcs[0]);
  const auto* means = reinterpret_cast<const Float*>(args.saved);  // [blocks]
  const Float* inverses = means + g.blocks;                        // [blocks]
  auto* sums = reinterpret_cast<Sums<kBlock>*>(args.scratch);      // [blocks][images]
  // The activation's result is not read but made again from src: that is less memory to go through,
  // and it need not be kept.
  struct Affine {
    Float mean;
    Float scale;
    Float beta;
  };
  const auto affine = [&](int64_t b) WEFT_WIDE {
    return Affine{means[b], inverses[b] * Load<kBlock>(g, args.params[0], b),
                  Load<kBlock>(g, args.params[1], b)};
  };
  const auto gradient = [&](int64_t i, const Affine& a) WEFT_WIDE {
    if constexpr (kActivation == Activation::kNone) return d_dst[i];
    return ActivateBackward<kActivation>((src[i] - a.mean) * a.scale + a.beta, d_dst[i]);
  };
  TwoPasses<kBlock>(
      device, g,
      [&](int64_t b, int64_t n) WEFT_WIDE {
        const int64_t place = g.Place(b, n);
        const Affine a = affine(b);
        Sums<kBlock> sum{};
        ForRuns(g.cells, [&](int64_t begin, int64_t end) WEFT_WIDE {
          Float plain[2]{};
          Float scaled[2]{};
          for (int64_t i = begin; i < end; ++i) {
            const Float d = gradient(place + i, a);
            plain[i & 1] += d;
            scaled[i & 1] += d * (src[place + i] - a.mean);
          }
          sum.first += __builtin_convertvector(plain[0] + plain[1], Double);
          sum.second += __builtin_convertvector(scaled[0] + scaled[1], Double);
        });
        sums[b * g.images + n] = sum;
      },
      [&](int64_t b) WEFT_WIDE {
        // The totals go where the first image's sums were.
        Sums<kBlock>& all = sums[b * g.images];
        for (int64_t n = 1; n < g.images; ++n) {
          all.first += sums[b * g.images + n].first;
          all.second += sums[b * g.images + n].second;
        }
        all.second *= __builtin_convertvector(inverses[b], Double);
        Store<kBlock>(g, __builtin_convertvector(all.second, Float), args.d_params[0], b);
        Store<kBlock>(g, __builtin_convertvector(all.first, Float), args.d_params[1], b);
      },
      [&](int64_t b, int64_t n) WEFT_WIDE {
        const int64_t place = g.Place(b, n);
        const auto values = static_cast<double>(g.values());
        const Sums<kBlock>& all = sums[b * g.images];
        const Affine a = affine(b);
        const Float shift = __builtin_convertvector(all.first / values, Float);
        const Float slope = inverses[b] * __builtin_convertvector(all.second / values, Float);
        for (int64_t i = place; i < place + g.cells; ++i) {
          d_src[i] = a.scale * (gradient(i, a) - shift - (src[i] - a.mean) * slope);
        }
      });
}

using Body = void (*)(const Device&, const Geometry&, const model::BatchNorm&, const KernelArgs&);

template <int kBlock>
Body Choose(const OpSpec& op, Role role) {
  return WithActivation(op.activation, [&]<Activation kActivation>() -> Body {
    if (role == Role::kBackwardData) return BackwardData<kBlock, kActivation>;
    return op.training ? ForwardTraining<kBlock, kActivation>
                       : ForwardInference<kBlock, kActivation>;
  });
}

}  // namespace

void Offer(const model::BatchNorm& norm, const OpSpec& op, Role role, const Device& device,
           Offers& offers) {
  if (role == Role::kBackwardWeights) return;
  const Geometry g(op, device.block);
  Facts facts{.src_block = device.block, .dst_block = device.block, .in_place = true};
  if (op.training) {
    facts.saved_bytes = g.saved_bytes();
    facts.saved_format = kSavedFormat;
    facts.scratch_bytes = g.scratch_bytes();
  }
  if (role == Role::kBackwardData) {
    facts.reads_src = true;
    facts.over_src = true;
  }
  const Body body = device.block == 16 ? Choose<16>(op, role) : Choose<8>(op, role);
  offers.push_back(MakeKernel(
      facts, [&device, g, norm, body](const KernelArgs& args) { body(device, g, norm, args); }));
}

}  // namespace weft::onednn
