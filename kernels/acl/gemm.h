// SPDX-License-Identifier: Apache-2.0
// Matrix products, which convolutions and fully connected layers are made of. There are two
// engines behind one interface: the Arm Compute Library's assembly, and loops of our own that
// allocate nothing and read transposed matrices as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/parallel.h"

namespace weft::acl {

// Somebody's floats, seen as rows and columns: element (r, c) is data[r * row_step + c *
// column_step]. One of the steps is 1.
template <typename Float>
struct MatrixOf {
  Float* data;
  int64_t row_step;
  int64_t column_step = 1;

  MatrixOf Transposed() const { return {data, column_step, row_step}; }
};

using Matrix = MatrixOf<float>;
using ConstMatrix = MatrixOf<const float>;

inline ConstMatrix Transposed(const float* data, int64_t row_step) { return {data, 1, row_step}; }

struct GemmShape {  // c [rows][columns] = a [rows][depth] * b [depth][columns]
  int64_t rows;
  int64_t columns;
  int64_t depth;
};

enum class Write { kOver, kAdd };

// Keeps nothing of a matrix from one call to the next. Thread: the owner of the backend.
class Gemm {
 public:
  virtual ~Gemm() = default;
  virtual const char* name() const = 0;
  // What Run needs for this shape and any smaller one.
  virtual size_t scratch_bytes(const GemmShape& shape) const = 0;
  // `c` has a column step of 1 and overlaps neither `a` nor `b`.
  virtual void Run(const GemmShape& shape, const ConstMatrix& a, const ConstMatrix& b,
                   const Matrix& c, Write write, std::byte* scratch) const = 0;
};

// Results do not depend on the threads. `parallel` must outlive it.
std::unique_ptr<Gemm> MakeNeonGemm(Parallel& parallel);

// On the library's own threads, a pool for the whole process that is given `threads` of them. Null
// where the library refuses products of floats.
std::unique_ptr<Gemm> MakeAclGemm(int threads);

}  // namespace weft::acl
