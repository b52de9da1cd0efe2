// SPDX-License-Identifier: Apache-2.0
// Pooling: each output is made of a rectangle of cells of its plane. The three kinds differ in
// where the rectangles lie, what is made of them, and which cells the gradient goes back to.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <variant>

#include "kernels/ref/op_kernel.h"
#include "kernels/ref/window.h"

namespace weft::ref {
namespace {

// The maximum, whose gradient goes to the cell that won; backward finds it again from src.
class Max {
 public:
  static constexpr bool kReadsSrc = true;  // in backward

  explicit Max(const OpSpec& op) : Max(op, std::get<model::MaxPool>(op.layer)) {}
  Max(const OpSpec& op, const model::MaxPool& pool)
      : window_(WindowOf(op.srcs[0], op.dst, pool.kernel, pool.stride, pool.padding)) {}

  double Forward(const float* src, int64_t oh, int64_t ow) const {
    return src[Winner(src, oh, ow)];
  }

  void Backward(const float* src, double d_dst, int64_t oh, int64_t ow, double* d_src) const {
    d_src[Winner(src, oh, ow)] += d_dst;
  }

 private:
  // The place of the first maximum in row-major order, or of the last NaN if there is any, as in
  // PyTorch. Shape inference sees to it that no window is all padding.
  int64_t Winner(const float* src, int64_t oh, int64_t ow) const {
    const Run rows = window_.h.Cells(oh);
    const Run columns = window_.w.Cells(ow);
    int64_t winner = rows.begin * window_.w.in + columns.begin;
    float largest = -std::numeric_limits<float>::infinity();
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        const int64_t cell = h * window_.w.in + w;
        if (src[cell] > largest || std::isnan(src[cell])) {
          winner = cell;
          largest = src[cell];
        }
      }
    }
    return winner;
  }

  Window window_;
};

struct Rectangle {
  Run rows;
  Run columns;
  double divisor;
};

class SlidingRectangles {
 public:
  explicit SlidingRectangles(const OpSpec& op)
      : pool_(std::get<model::AvgPool>(op.layer)),
        window_(WindowOf(op.srcs[0], op.dst, pool_.kernel, pool_.stride, pool_.padding)) {}

  Rectangle At(int64_t oh, int64_t ow) const {
    const Run rows = window_.h.Cells(oh);
    const Run columns = window_.w.Cells(ow);
    const int64_t divisor = pool_.count_include_pad
                                ? PaddedCells(window_.h, oh) * PaddedCells(window_.w, ow)
                                : rows.size() * columns.size();
    return {rows, columns, static_cast<double>(divisor)};
  }

 private:
  // Cells under window o that are image or padding: ceil_mode may reach beyond both.
  static int64_t PaddedCells(const Axis& axis, int64_t o) {
    const int64_t start = axis.Cell(o, 0);
    return std::min(start + axis.kernel, axis.in + axis.padding) - start;
  }

  model::AvgPool pool_;
  Window window_;
};

class AdaptiveRectangles {
 public:
  explicit AdaptiveRectangles(const OpSpec& op) : src_(op.srcs[0]), dst_(op.dst) {}

  Rectangle At(int64_t oh, int64_t ow) const {
    const Run rows = Share(oh, src_[2], dst_[2]);
    const Run columns = Share(ow, src_[3], dst_[3]);
    return {rows, columns, static_cast<double>(rows.size() * columns.size())};
  }

 private:
  // floor(o * in / out) .. ceil((o + 1) * in / out) - 1
  static Run Share(int64_t o, int64_t in, int64_t out) {
    return {o * in / out, ((o + 1) * in + out - 1) / out};
  }

  Shape src_;
  Shape dst_;
};

// The sum of a rectangle, which `Rectangles` finds, over its divisor. Each cell gets the gradient
// over the divisor.
template <typename Rectangles>
class Average {
 public:
  static constexpr bool kReadsSrc = false;

  explicit Average(const OpSpec& op) : rectangles_(op), width_(op.srcs[0][3]) {}

  double Forward(const float* src, int64_t oh, int64_t ow) const {
    const Rectangle rectangle = rectangles_.At(oh, ow);
    double sum = 0;
    ForEachCell(rectangle, [&](int64_t cell) { sum += src[cell]; });
    return sum / rectangle.divisor;
  }

  void Backward(const float*, double d_dst, int64_t oh, int64_t ow, double* d_src) const {
    const Rectangle rectangle = rectangles_.At(oh, ow);
    const double share = d_dst / rectangle.divisor;
    ForEachCell(rectangle, [&](int64_t cell) { d_src[cell] += share; });
  }

 private:
  template <typename Cell>
  void ForEachCell(const Rectangle& rectangle, const Cell& cell) const {
    for (int64_t h = rectangle.rows.begin; h < rectangle.rows.end; ++h) {
      for (int64_t w = rectangle.columns.begin; w < rectangle.columns.end; ++w)
        cell(h * width_ + w);
    }
  }

  Rectangles rectangles_;
  int64_t width_;
};

template <typename Pool>
void Forward(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  const Pool pool(op);
  const int64_t cells = op.srcs[0][2] * op.srcs[0][3];
  const int64_t height = op.dst[2];
  const int64_t width = op.dst[3];
  parallel.For(op.dst[0] * op.dst[1], [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const float* src = args.srcs[0] + plane * cells;  // [H][W]
      float* dst = args.dst + plane * height * width;   // [OH][OW]
      for (int64_t oh = 0; oh < height; ++oh) {
        for (int64_t ow = 0; ow < width; ++ow) {
          dst[oh * width + ow] = static_cast<float>(pool.Forward(src, oh, ow));
        }
      }
    }
  });
}

template <typename Pool>
void BackwardData(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  const Pool pool(op);
  const int64_t channels = op.dst[1];
  const int64_t cells = op.srcs[0][2] * op.srcs[0][3];
  const int64_t height = op.dst[2];
  const int64_t width = op.dst[3];
  auto* sums = reinterpret_cast<double*>(args.scratch);  // [C][H][W], of one image
  for (int64_t n = 0; n < op.dst[0]; ++n) {
    parallel.For(channels, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const int64_t plane = n * channels + c;
        const float* src = Pool::kReadsSrc ? args.srcs[0] + plane * cells : nullptr;  // [H][W]
        const float* d_dst = args.d_dst + plane * height * width;                     // [OH][OW]
        double* sum = sums + c * cells;
        std::fill_n(sum, cells, 0.0);
        for (int64_t oh = 0; oh < height; ++oh) {
          for (int64_t ow = 0; ow < width; ++ow) {
            pool.Backward(src, d_dst[oh * width + ow], oh, ow, sum);
          }
        }
        std::copy_n(sum, cells, args.d_srcs[0] + plane * cells);
      }
    });
  }
}

template <typename Pool>
Prepared PreparePool(const OpSpec& op, Role role, Parallel& parallel) {
  switch (role) {
    case Role::kForward:
      return MakeKernel(op, parallel, Forward<Pool>);
    case Role::kBackwardData: {
      const size_t sums = op.srcs[0].elements() / op.srcs[0][0];
      return MakeKernel(op, parallel, BackwardData<Pool>,
                        {.scratch_bytes = sums * sizeof(double), .reads_src = Pool::kReadsSrc});
    }
    case Role::kBackwardWeights:
      break;
  }
  return nullptr;
}

}  // namespace

Prepared Prepare(const model::MaxPool&, const OpSpec& op, Role role, Parallel& parallel) {
  return PreparePool<Max>(op, role, parallel);
}

Prepared Prepare(const model::AvgPool&, const OpSpec& op, Role role, Parallel& parallel) {
  return PreparePool<Average<SlidingRectangles>>(op, role, parallel);
}

Prepared Prepare(const model::AdaptiveAvgPool&, const OpSpec& op, Role role, Parallel& parallel) {
  return PreparePool<Average<AdaptiveRectangles>>(op, role, parallel);
}

}  // namespace weft::ref
