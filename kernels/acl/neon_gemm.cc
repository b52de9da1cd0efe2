// SPDX-License-Identifier: Apache-2.0
// The product by tiles that stay in registers. Both matrices are first packed into panels, so that
// a tile reads either from front to back: a's are kTileRows high, b's kTileColumns wide, filled up
// with zeros. Depth is cut into blocks that keep a panel in the first cache; their sums are joined
// in c.
#include <arm_neon.h>

#include <algorithm>
#include <cstring>

#include "kernels/acl/gemm.h"

namespace weft::acl {
namespace {

using Vec = float32x4_t;
constexpr int kLanes = 4;

inline Vec Load(const float* from) { return vld1q_f32(from); }
inline void Store(float* to, Vec vec) { vst1q_f32(to, vec); }

// sum += row * column[kLane]. armv7 has no fused multiply-add by a lane.
template <int kLane>
inline void AddProduct(Vec& sum, Vec row, Vec column) {
#ifdef __aarch64__
  sum = vfmaq_laneq_f32(sum, row, column, kLane);
#else
  const float32x2_t half = kLane < 2 ? vget_low_f32(column) : vget_high_f32(column);
  sum = vmlaq_lane_f32(sum, row, half, kLane % 2);
#endif
}

// As many sums as registers hold beside the operands: 24 of 32, or 12 of armv7's 16.
#ifdef __aarch64__
constexpr int kTileRows = 8;
#else
constexpr int kTileRows = 4;
#endif
constexpr int kTileColumns = 12;
constexpr int kTileVecs = kTileColumns / kLanes;

constexpr int64_t kDepthBlock = 256;
constexpr int64_t kColumnBlock = 40 * kTileColumns;  // of b; with kDepthBlock, half a megabyte

constexpr int64_t Panels(int64_t count, int64_t width) { return (count + width - 1) / width; }

// Packs `width` neighbours, of which `there` exist, for each of `depth` places:
// to[depth][width]. Neighbours are `step` apart, places `depth_step`.
template <int kWidth>
void Pack(const float* from, int64_t step, int64_t depth_step, int64_t there, int64_t depth,
          float* to) {
  if (there < kWidth) {
    std::fill_n(to, depth * kWidth, 0.0f);
    for (int64_t i = 0; i < there; ++i) {
      for (int64_t d = 0; d < depth; ++d) to[d * kWidth + i] = from[i * step + d * depth_step];
    }
  } else if (step == 1) {
    for (int64_t d = 0; d < depth; ++d) {
      std::memcpy(to + d * kWidth, from + d * depth_step, kWidth * sizeof(float));
    }
  } else {  // depth_step is 1: four by four through registers
    int64_t d = 0;
    for (; d + kLanes <= depth; d += kLanes) {
      for (int i = 0; i < kWidth; i += kLanes) {
        const float* corner = from + i * step + d;
        const float32x4x2_t even = vtrnq_f32(Load(corner), Load(corner + step));
        const float32x4x2_t odd = vtrnq_f32(Load(corner + 2 * step), Load(corner + 3 * step));
        float* out = to + d * kWidth + i;
        Store(out, vcombine_f32(vget_low_f32(even.val[0]), vget_low_f32(odd.val[0])));
        Store(out + kWidth, vcombine_f32(vget_low_f32(even.val[1]), vget_low_f32(odd.val[1])));
        Store(out + 2 * kWidth,
              vcombine_f32(vget_high_f32(even.val[0]), vget_high_f32(odd.val[0])));
        Store(out + 3 * kWidth,
              vcombine_f32(vget_high_f32(even.val[1]), vget_high_f32(odd.val[1])));
      }
    }
    for (; d < depth; ++d) {
      for (int i = 0; i < kWidth; ++i) to[d * kWidth + i] = from[i * step + d];
    }
  }
}

// c [kTileRows][kTileColumns] = or += a [depth][kTileRows], transposed, * b [depth][kTileColumns].
template <bool kAdd>
void MultiplyTile(int64_t depth, const float* a, const float* b, float* c, int64_t c_step) {
  Vec sums[kTileRows][kTileVecs];
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kTileVecs; ++v) {
      sums[r][v] = kAdd ? Load(c + r * c_step + v * kLanes) : vdupq_n_f32(0);
    }
  }
  for (const float* end = a + depth * kTileRows; a < end; a += kTileRows, b += kTileColumns) {
    Vec columns[kTileRows / kLanes];
#pragma GCC unroll 2
    for (int q = 0; q < kTileRows / kLanes; ++q) columns[q] = Load(a + q * kLanes);
#pragma GCC unroll 3
    for (int v = 0; v < kTileVecs; ++v) {
      const Vec row = Load(b + v * kLanes);
#pragma GCC unroll 2
      for (int q = 0; q < kTileRows / kLanes; ++q) {
        AddProduct<0>(sums[q * kLanes][v], row, columns[q]);
        AddProduct<1>(sums[q * kLanes + 1][v], row, columns[q]);
        AddProduct<2>(sums[q * kLanes + 2][v], row, columns[q]);
        AddProduct<3>(sums[q * kLanes + 3][v], row, columns[q]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kTileVecs; ++v) {
      Store(c + r * c_step + v * kLanes, sums[r][v]);
    }
  }
}

// The same for a tile at the edge of c, of which only `rows` and `columns` are there.
void MultiplyEdge(int64_t depth, const float* a, const float* b, float* c, int64_t c_step,
                  int64_t rows, int64_t columns, Write write) {
  float tile[kTileRows * kTileColumns];
  MultiplyTile<false>(depth, a, b, tile, kTileColumns);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < columns; ++i) {
      float& to = c[r * c_step + i];
      to = write == Write::kAdd ? to + tile[r * kTileColumns + i] : tile[r * kTileColumns + i];
    }
  }
}

class NeonGemm final : public Gemm {
 public:
  explicit NeonGemm(Parallel& parallel) : parallel_(parallel) {}

  const char* name() const override { return "acl:neon"; }

  size_t scratch_bytes(const GemmShape& shape) const override {
    return static_cast<size_t>(PackedA(shape) + PackedB(shape)) * sizeof(float);
  }

  void Run(const GemmShape& shape, const ConstMatrix& a, const ConstMatrix& b, const Matrix& c,
           Write write, std::byte* scratch) const override {
    auto* packed_a = reinterpret_cast<float*>(scratch);  // [panels][depth][kTileRows]
    float* packed_b = packed_a + PackedA(shape);         // [panels][depth][kTileColumns]
    for (int64_t d = 0; d < shape.depth; d += kDepthBlock) {
      const int64_t depth = std::min(kDepthBlock, shape.depth - d);
      const float* from_a = a.data + d * a.column_step;
      parallel_.For(Panels(shape.rows, kTileRows), [&](int64_t begin, int64_t end) {
        for (int64_t panel = begin; panel < end; ++panel) {
          const int64_t row = panel * kTileRows;
          Pack<kTileRows>(from_a + row * a.row_step, a.row_step, a.column_step,
                          std::min<int64_t>(kTileRows, shape.rows - row), depth,
                          packed_a + row * depth);
        }
      });
      for (int64_t column = 0; column < shape.columns; column += kColumnBlock) {
        const GemmShape block{shape.rows, std::min(kColumnBlock, shape.columns - column), depth};
        const float* from_b = b.data + d * b.row_step + column * b.column_step;
        parallel_.For(Panels(block.columns, kTileColumns), [&](int64_t begin, int64_t end) {
          for (int64_t panel = begin; panel < end; ++panel) {
            const int64_t first = panel * kTileColumns;
            Pack<kTileColumns>(from_b + first * b.column_step, b.column_step, b.row_step,
                               std::min<int64_t>(kTileColumns, block.columns - first), depth,
                               packed_b + first * depth);
          }
        });
        MultiplyBlock(block, packed_a, packed_b, c.data + column, c.row_step,
                      d == 0 ? write : Write::kAdd);
      }
    }
  }

 private:
  static int64_t PackedA(const GemmShape& shape) {
    return Panels(shape.rows, kTileRows) * kTileRows * std::min(shape.depth, kDepthBlock);
  }
  static int64_t PackedB(const GemmShape& shape) {
    return Panels(std::min(shape.columns, kColumnBlock), kTileColumns) * kTileColumns *
           std::min(shape.depth, kDepthBlock);
  }

  // The threads share out the panels of whichever matrix has more of them.
  void MultiplyBlock(const GemmShape& block, const float* packed_a, const float* packed_b, float* c,
                     int64_t c_step, Write write) const {
    const int64_t high = Panels(block.rows, kTileRows);
    const int64_t wide = Panels(block.columns, kTileColumns);
    const auto multiply = [&](int64_t rows_begin, int64_t rows_end, int64_t columns_begin,
                              int64_t columns_end) {
      for (int64_t j = columns_begin; j < columns_end; ++j) {
        for (int64_t i = rows_begin; i < rows_end; ++i) {
          const float* a = packed_a + i * kTileRows * block.depth;
          const float* b = packed_b + j * kTileColumns * block.depth;
          float* tile = c + i * kTileRows * c_step + j * kTileColumns;
          const int64_t rows = std::min<int64_t>(kTileRows, block.rows - i * kTileRows);
          const int64_t columns = std::min<int64_t>(kTileColumns, block.columns - j * kTileColumns);
          if (rows < kTileRows || columns < kTileColumns) {
            MultiplyEdge(block.depth, a, b, tile, c_step, rows, columns, write);
          } else if (write == Write::kAdd) {
            MultiplyTile<true>(block.depth, a, b, tile, c_step);
          } else {
            MultiplyTile<false>(block.depth, a, b, tile, c_step);
          }
        }
      }
    };
    if (high >= wide) {
      parallel_.For(high, [&](int64_t begin, int64_t end) { multiply(begin, end, 0, wide); });
    } else {
      parallel_.For(wide, [&](int64_t begin, int64_t end) { multiply(0, high, begin, end); });
    }
  }

  Parallel& parallel_;
};

}  // namespace

std::unique_ptr<Gemm> MakeNeonGemm(Parallel& parallel) {
  return std::make_unique<NeonGemm>(parallel);
}

}  // namespace weft::acl
