// SPDX-License-Identifier: Apache-2.0
// Max, average and adaptive pooling on blocks of channels. All are made of windows, which along
// each axis are runs of cells, laid down in tables when a kernel is prepared. Backward goes cell by
// cell of d_src and collects from the windows over it, so that every cell is written once.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/onednn/offers.h"
#include "kernels/onednn/wide.h"

namespace weft::onednn {
namespace {

struct Run {  // begin .. end - 1
  int begin;
  int end;
};

struct Axis {
  int in = 0;
  int out = 0;
  std::vector<Run> cells;    // under each window, those outside of the image left out
  std::vector<int> counted;  // cells of each window that an average divides by
  std::vector<Run> windows;  // over each cell

  // Fills in `windows`, for which `cells` must be there: they are in order.
  void Invert() {
    int begin = 0;
    int end = 0;
    for (int cell = 0; cell < in; ++cell) {
      while (begin < out && cells[begin].end <= cell) ++begin;
      while (end < out && cells[end].begin <= cell) ++end;
      windows.push_back({begin, end > begin ? end : begin});
    }
  }
};

Axis SlidingAxis(int64_t in, int64_t out, int kernel, int stride, int padding, bool count_padding) {
  Axis axis{static_cast<int>(in), static_cast<int>(out)};
  for (int o = 0; o < axis.out; ++o) {
    const int start = o * stride - padding;
    const Run inside{std::max(start, 0), std::min(start + kernel, axis.in)};
    axis.cells.push_back(inside);
    // A last window may reach beyond the padding; what is there never counts.
    axis.counted.push_back(count_padding ? std::min(start + kernel, axis.in + padding) - start
                                         : inside.end - inside.begin);
  }
  axis.Invert();
  return axis;
}

Axis AdaptiveAxis(int64_t in, int64_t out) {
  Axis axis{static_cast<int>(in), static_cast<int>(out)};
  for (int64_t o = 0; o < out; ++o) {
    const Run share{static_cast<int>(o * in / out),
                    static_cast<int>(((o + 1) * in + out - 1) / out)};
    axis.cells.push_back(share);
    axis.counted.push_back(share.end - share.begin);
  }
  axis.Invert();
  return axis;
}

struct Windows {
  Axis h;
  Axis w;
  int64_t planes;  // images times blocks of channels

  int64_t in() const { return static_cast<int64_t>(h.in) * w.in; }
  int64_t out() const { return static_cast<int64_t>(h.out) * w.out; }
};

// Calls row(plane, h) for each row of each plane, threads sharing out the rows.
template <int kBlock, typename Row>
void ForRows(const Device& device, int64_t planes, int height, const Row& row) {
  ForWide<kBlock>(device, planes * height, [&](int64_t begin, int64_t end) WEFT_WIDE {
    for (int64_t i = begin; i < end; ++i) row(i / height, static_cast<int>(i % height));
  });
}

// The maximum and, in `winners` if it is there, whose it was: the cell's place in the window's part
// inside the image, in row-major order, `stride` to a row. Of equals the first wins, of NaNs the
// last.
template <int kBlock>
void MaxForward(const Device& device, const Windows& windows, int stride, const float* src,
                float* dst, uint8_t* winners) {
  using Float = Vec<kBlock>;
  using Int = typename VecOf<kBlock>::Int;
  using Byte = typename VecOf<kBlock>::Byte;
  ForRows<kBlock>(device, windows.planes, windows.h.out, [&](int64_t plane, int oh) WEFT_WIDE {
    const auto* from = reinterpret_cast<const Float*>(src) + plane * windows.in();
    const int64_t row = plane * windows.out() + static_cast<int64_t>(oh) * windows.w.out;
    auto* to = reinterpret_cast<Float*>(dst) + row;
    const Run rows = windows.h.cells[oh];
    for (int ow = 0; ow < windows.w.out; ++ow) {
      const Run columns = windows.w.cells[ow];
      Float largest = from[static_cast<int64_t>(rows.begin) * windows.w.in + columns.begin];
      Int winner{};
      for (int h = rows.begin; h < rows.end; ++h) {
        for (int w = columns.begin; w < columns.end; ++w) {
          const Float x = from[static_cast<int64_t>(h) * windows.w.in + w];
          const auto wins = (x > largest) | (x != x);
          largest = wins ? x : largest;
          winner = wins ? Int{} + ((h - rows.begin) * stride + (w - columns.begin)) : winner;
        }
      }
      to[ow] = largest;
      if (winners == nullptr) continue;
      reinterpret_cast<Byte*>(winners)[row + ow] = __builtin_convertvector(winner, Byte);
    }
  });
}

template <int kBlock>
void MaxBackward(const Device& device, const Windows& windows, int stride, const float* d_dst,
                 const uint8_t* winners, float* d_src) {
  using Float = Vec<kBlock>;
  using Int = typename VecOf<kBlock>::Int;
  using Byte = typename VecOf<kBlock>::Byte;
  ForRows<kBlock>(device, windows.planes, windows.h.in, [&](int64_t plane, int h) WEFT_WIDE {
    const auto* from = reinterpret_cast<const Float*>(d_dst) + plane * windows.out();
    const auto* won = reinterpret_cast<const Byte*>(winners) + plane * windows.out();
    auto* to = reinterpret_cast<Float*>(d_src) + plane * windows.in() +
               static_cast<int64_t>(h) * windows.w.in;
    const Run over_h = windows.h.windows[h];
    for (int w = 0; w < windows.w.in; ++w) {
      const Run over_w = windows.w.windows[w];
      Float sum{};
      for (int oh = over_h.begin; oh < over_h.end; ++oh) {
        for (int ow = over_w.begin; ow < over_w.end; ++ow) {
          const int64_t at = static_cast<int64_t>(oh) * windows.w.out + ow;
          const int me = (h - windows.h.cells[oh].begin) * stride + (w - windows.w.cells[ow].begin);
          sum += __builtin_convertvector(won[at], Int) == me ? from[at] : Float{};
        }
      }
      to[w] = sum;
    }
  });
}

template <int kBlock>
void AverageForward(const Device& device, const Windows& windows, const float* src, float* dst) {
  using Float = Vec<kBlock>;
  ForRows<kBlock>(device, windows.planes, windows.h.out, [&](int64_t plane, int oh) WEFT_WIDE {
    const auto* from = reinterpret_cast<const Float*>(src) + plane * windows.in();
    auto* to = reinterpret_cast<Float*>(dst) + plane * windows.out() +
               static_cast<int64_t>(oh) * windows.w.out;
    const Run rows = windows.h.cells[oh];
    for (int ow = 0; ow < windows.w.out; ++ow) {
      const Run columns = windows.w.cells[ow];
      Float sum{};
      for (int h = rows.begin; h < rows.end; ++h) {
        Float row{};
        for (int w = columns.begin; w < columns.end; ++w) {
          row += from[static_cast<int64_t>(h) * windows.w.in + w];
        }
        sum += row;
      }
      to[ow] = sum / static_cast<float>(windows.h.counted[oh] * windows.w.counted[ow]);
    }
  });
}

template <int kBlock>
void AverageBackward(const Device& device, const Windows& windows, const float* d_dst,
                     float* d_src) {
  using Float = Vec<kBlock>;
  ForRows<kBlock>(device, windows.planes, windows.h.in, [&](int64_t plane, int h) WEFT_WIDE {
    const auto* from = reinterpret_cast<const Float*>(d_dst) + plane * windows.out();
    auto* to = reinterpret_cast<Float*>(d_src) + plane * windows.in() +
               static_cast<int64_t>(h) * windows.w.in;
    const Run over_h = windows.h.windows[h];
    for (int w = 0; w < windows.w.in; ++w) {
      const Run over_w = windows.w.windows[w];
      Float sum{};
      for (int oh = over_h.begin; oh < over_h.end; ++oh) {
        for (int ow = over_w.begin; ow < over_w.end; ++ow) {
          sum += from[static_cast<int64_t>(oh) * windows.w.out + ow] /
                 static_cast<float>(windows.h.counted[oh] * windows.w.counted[ow]);
        }
      }
      to[w] = sum;
    }
  });
}

int64_t Planes(const OpSpec& op, int block) {
  return op.dst[0] * ((op.dst[1] + block - 1) / block);
}

void OfferAverage(Windows windows, const OpSpec& op, Role role, const Device& device,
                  Offers& offers) {
  const Facts facts{.src_block = device.block, .dst_block = device.block};
  windows.planes = Planes(op, device.block);
  if (role == Role::kForward) {
    const auto body = device.block == 16 ? AverageForward<16> : AverageForward<8>;
    offers.push_back(
        MakeKernel(facts, [&device, body, windows = std::move(windows)](const KernelArgs& args) {
          body(device, windows, args.srcs[0], args.dst);
        }));
  } else if (role == Role::kBackwardData) {
    const auto body = device.block == 16 ? AverageBackward<16> : AverageBackward<8>;
    offers.push_back(
        MakeKernel(facts, [&device, body, windows = std::move(windows)](const KernelArgs& args) {
          body(device, windows, args.d_dst, args.d_srcs[0]);
        }));
  }
}

}  // namespace

void Offer(const model::MaxPool& pool, const OpSpec& op, Role role, const Device& device,
           Offers& offers) {
  constexpr int kMostCells = 256;  // what a byte can tell apart
  if (role == Role::kBackwardWeights || pool.kernel.h * pool.kernel.w > kMostCells) return;
  const Shape& src = op.srcs[0];
  const Windows windows{
      SlidingAxis(src[2], op.dst[2], pool.kernel.h, pool.stride.h, pool.padding.h, false),
      SlidingAxis(src[3], op.dst[3], pool.kernel.w, pool.stride.w, pool.padding.w, false),
      Planes(op, device.block)};
  Facts facts{.src_block = device.block, .dst_block = device.block};
  if (op.training) {
    facts.saved_bytes = ActivationElements(op.dst, device.block);
    facts.saved_format = "winner_in_window_u8_blocked";
  }
  const int stride = pool.kernel.w;
  if (role == Role::kForward) {
    const auto body = device.block == 16 ? MaxForward<16> : MaxForward<8>;
    offers.push_back(MakeKernel(facts, [&device, body, windows, stride](const KernelArgs& args) {
      body(device, windows, stride, args.srcs[0], args.dst, reinterpret_cast<uint8_t*>(args.saved));
    }));
  } else {
    const auto body = device.block == 16 ? MaxBackward<16> : MaxBackward<8>;
    offers.push_back(MakeKernel(facts, [&device, body, windows, stride](const KernelArgs& args) {
      body(device, windows, stride, args.d_dst, reinterpret_cast<const uint8_t*>(args.saved),
           args.d_srcs[0]);
    }));
  }
}

void Offer(const model::AvgPool& pool, const OpSpec& op, Role role, const Device& device,
           Offers& offers) {
  const Shape& src = op.srcs[0];
  OfferAverage({SlidingAxis(src[2], op.dst[2], pool.kernel.h, pool.stride.h, pool.padding.h,
                            pool.count_include_pad),
                SlidingAxis(src[3], op.dst[3], pool.kernel.w, pool.stride.w, pool.padding.w,
                            pool.count_include_pad),
                0},
               op, role, device, offers);
}

void Offer(const model::AdaptiveAvgPool&, const OpSpec& op, Role role, const Device& device,
           Offers& offers) {
  const Shape& src = op.srcs[0];
  OfferAverage({AdaptiveAxis(src[2], op.dst[2]), AdaptiveAxis(src[3], op.dst[3]), 0}, op, role,
               device, offers);
}

}  // namespace weft::onednn
