// SPDX-License-Identifier: Apache-2.0
// Max, average and adaptive pooling, a plane at a time. The maximum goes tap by tap over rows of
// outputs; averages are made of windows, which along each axis are runs of cells, laid down in
// tables when a kernel is prepared.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/acl/offers.h"
#include "kernels/acl/window.h"

namespace weft::acl {
namespace {

struct MaxWindows {
  Axis h;
  Axis w;
  int64_t planes;  // images times channels

  int64_t in() const { return h.in * w.in; }
  int64_t out() const { return h.out * w.out; }
};

// The maximum and, in `winners` if it is there, whose it was: the cell's place in the kernel,
// padding counted, in row-major order. Of equals the first wins, of NaNs the last.
void MaxRow(const MaxWindows& m, int64_t oh, const float* src, float* dst, uint8_t* winners) {
  const int64_t first_h = std::max<int64_t>(0, -m.h.Cell(oh, 0));
  const int64_t last_h = std::min(m.h.kernel, m.h.in - m.h.Cell(oh, 0));
  for (int64_t ow = 0; ow < m.w.out; ++ow) {
    const int64_t first_w = std::max<int64_t>(0, -m.w.Cell(ow, 0));
    dst[ow] = src[m.h.Cell(oh, first_h) * m.w.in + m.w.Cell(ow, first_w)];
    winners[ow] = static_cast<uint8_t>(first_h * m.w.kernel + first_w);
  }
  for (int64_t kh = first_h; kh < last_h; ++kh) {
    for (int64_t kw = 0; kw < m.w.kernel; ++kw) {
      const float* cells = src + m.h.Cell(oh, kh) * m.w.in + m.w.Cell(0, kw);
      const auto tap = static_cast<uint8_t>(kh * m.w.kernel + kw);
      const int64_t end = m.w.FirstPlace(kw, m.w.in);
      for (int64_t ow = m.w.FirstPlace(kw, 0); ow < end; ++ow) {
        const float x = cells[ow * m.w.stride];
        const bool wins = (x > dst[ow]) | (x != x);
        dst[ow] = wins ? x : dst[ow];
        winners[ow] = wins ? tap : winners[ow];
      }
    }
  }
}

void MaxForward(const MaxWindows& m, const float* src, float* dst, uint8_t* winners, uint8_t* spare,
                Parallel& parallel) {
  parallel.For(m.planes, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      for (int64_t oh = 0; oh < m.h.out; ++oh) {
        const int64_t row = plane * m.out() + oh * m.w.out;
        MaxRow(m, oh, src + plane * m.in(), dst + row,
               winners != nullptr ? winners + row : spare + plane * m.w.out);
      }
    }
  });
}

void MaxBackward(const MaxWindows& m, const float* d_dst, const uint8_t* winners, float* d_src,
                 Parallel& parallel) {
  parallel.For(m.planes, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      float* to = d_src + plane * m.in();
      std::fill_n(to, m.in(), 0.0f);
      for (int64_t oh = 0; oh < m.h.out; ++oh) {
        const int64_t row = plane * m.out() + oh * m.w.out;
        for (int64_t ow = 0; ow < m.w.out; ++ow) {
          const int64_t winner = winners[row + ow];
          to[m.h.Cell(oh, winner / m.w.kernel) * m.w.in + m.w.Cell(ow, winner % m.w.kernel)] +=
              d_dst[row + ow];
        }
      }
    }
  });
}

struct Share {  // cells begin .. end - 1, and by how many of them an average divides
  int64_t begin;
  int64_t end;
  int64_t divisor;
};

std::vector<Share> SlidingShares(const Axis& axis, bool count_padding) {
  std::vector<Share> shares;
  for (int64_t o = 0; o < axis.out; ++o) {
    const int64_t start = axis.Cell(o, 0);
    const int64_t stop = start + axis.kernel;
    const int64_t begin = std::max<int64_t>(start, 0);
    const int64_t end = std::min(stop, axis.in);
    // A last window may reach beyond the padding; what is there never counts.
    const int64_t padded = std::min(stop, axis.in + axis.padding) - start;
    shares.push_back({begin, end, count_padding ? padded : end - begin});
  }
  return shares;
}

std::vector<Share> AdaptiveShares(int64_t in, int64_t out) {
  std::vector<Share> shares;
  for (int64_t o = 0; o < out; ++o) {
    const int64_t begin = o * in / out;
    const int64_t end = ((o + 1) * in + out - 1) / out;
    shares.push_back({begin, end, end - begin});
  }
  return shares;
}

struct AverageWindows {
  std::vector<Share> h;
  std::vector<Share> w;
  int64_t height;  // of the image
  int64_t width;
  int64_t planes;  // images times channels
};

// Calls window(place, rows, columns) for every output of one plane.
template <typename Window>
void ForWindows(const AverageWindows& a, const Window& window) {
  int64_t place = 0;
  for (const Share& rows : a.h) {
    for (const Share& columns : a.w) window(place++, rows, columns);
  }
}

void AverageForward(const AverageWindows& a, const float* src, float* dst, Parallel& parallel) {
  const auto outputs = static_cast<int64_t>(a.h.size() * a.w.size());
  parallel.For(a.planes, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const float* from = src + plane * a.height * a.width;
      float* to = dst + plane * outputs;
      ForWindows(a, [&](int64_t place, const Share& rows, const Share& columns) {
        float sum = 0;
        for (int64_t h = rows.begin; h < rows.end; ++h) {
          float row = 0;
          for (int64_t w = columns.begin; w < columns.end; ++w) row += from[h * a.width + w];
          sum += row;
        }
        to[place] = sum / static_cast<float>(rows.divisor * columns.divisor);
      });
    }
  });
}

void AverageBackward(const AverageWindows& a, const float* d_dst, float* d_src,
                     Parallel& parallel) {
  const auto outputs = static_cast<int64_t>(a.h.size() * a.w.size());
  parallel.For(a.planes, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const float* from = d_dst + plane * outputs;
      float* to = d_src + plane * a.height * a.width;
      std::fill_n(to, a.height * a.width, 0.0f);
      ForWindows(a, [&](int64_t place, const Share& rows, const Share& columns) {
        const float part = from[place] / static_cast<float>(rows.divisor * columns.divisor);
        for (int64_t h = rows.begin; h < rows.end; ++h) {
          for (int64_t w = columns.begin; w < columns.end; ++w) to[h * a.width + w] += part;
        }
      });
    }
  });
}

void OfferAverage(AverageWindows windows, Role role, const Device& device, Offers& offers) {
  Parallel& parallel = device.parallel;
  if (role == Role::kForward) {
    offers.push_back(
        MakeKernel(Facts{}, [&parallel, windows = std::move(windows)](const KernelArgs& args) {
          AverageForward(windows, args.srcs[0], args.dst, parallel);
        }));
  } else if (role == Role::kBackwardData) {
    offers.push_back(
        MakeKernel(Facts{}, [&parallel, windows = std::move(windows)](const KernelArgs& args) {
          AverageBackward(windows, args.d_dst, args.d_srcs[0], parallel);
        }));
  }
}

// Both kinds of sliding pool have these fields.
template <typename Pool>
std::pair<Axis, Axis> AxesOf(const Pool& pool, const OpSpec& op) {
  const Shape& src = op.srcs[0];
  return {{src[2], op.dst[2], pool.kernel.h, pool.stride.h, pool.padding.h, 1},
          {src[3], op.dst[3], pool.kernel.w, pool.stride.w, pool.padding.w, 1}};
}

}  // namespace

void Offer(const model::MaxPool& pool, const OpSpec& op, Role role, const Device& device,
           Offers& offers) {
  constexpr int kMostCells = 256;  // what a byte can tell apart
  if (role == Role::kBackwardWeights || pool.kernel.h * pool.kernel.w > kMostCells) return;
  const auto [h, w] = AxesOf(pool, op);
  const MaxWindows windows{h, w, op.dst[0] * op.dst[1]};
  Parallel& parallel = device.parallel;
  Facts facts;
  if (op.training) {
    facts.saved_bytes = static_cast<size_t>(op.dst.elements());
    facts.saved_format = "winner_in_kernel_u8";
  } else {
    facts.scratch_bytes = static_cast<size_t>(windows.planes * windows.w.out);
  }
  if (role == Role::kForward) {
    offers.push_back(MakeKernel(facts, [&parallel, windows](const KernelArgs& args) {
      MaxForward(windows, args.srcs[0], args.dst, reinterpret_cast<uint8_t*>(args.saved),
                 reinterpret_cast<uint8_t*>(args.scratch), parallel);
    }));
  } else {
    offers.push_back(MakeKernel(facts, [&parallel, windows](const KernelArgs& args) {
      MaxBackward(windows, args.d_dst, reinterpret_cast<const uint8_t*>(args.saved), args.d_srcs[0],
                  parallel);
    }));
  }
}

void Offer(const model::AvgPool& pool, const OpSpec& op, Role role, const Device& device,
           Offers& offers) {
  const auto [h, w] = AxesOf(pool, op);
  OfferAverage({SlidingShares(h, pool.count_include_pad), SlidingShares(w, pool.count_include_pad),
                h.in, w.in, op.dst[0] * op.dst[1]},
               role, device, offers);
}

void Offer(const model::AdaptiveAvgPool&, const OpSpec& op, Role role, const Device& device,
           Offers& offers) {
  const Shape& src = op.srcs[0];
  OfferAverage({AdaptiveShares(src[2], op.dst[2]), AdaptiveShares(src[3], op.dst[3]), src[2],
                src[3], op.dst[0] * op.dst[1]},
               role, device, offers);
}

}  // namespace weft::acl
