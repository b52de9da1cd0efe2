// SPDX-License-Identifier: Apache-2.0
// The product by the Arm Compute Library's assembly, which has a version for each kind of core. The
// library packs b when it is first asked to run and never again, whatever happens to b: so each
// product gets an object of its own. That costs a few allocations and, next to packing, no time.
// The one switch that makes the library pack every time also makes it leave its assembly, for loops
// that take twice the instructions.
#include <arm_compute/core/TensorInfo.h>
#include <arm_compute/runtime/NEON/functions/NEGEMMAssemblyDispatch.h>
#include <arm_compute/runtime/Scheduler.h>
#include <arm_compute/runtime/Tensor.h>

#include <algorithm>
#include <exception>

#include "kernels/acl/gemm.h"

namespace weft::acl {
namespace {

// The library counts dimensions from the innermost.
arm_compute::TensorInfo InfoOf(int64_t rows, int64_t columns, int64_t row_step) {
  arm_compute::TensorInfo info;
  const size_t stride = static_cast<size_t>(row_step) * sizeof(float);
  info.init(arm_compute::TensorShape(static_cast<size_t>(columns), static_cast<size_t>(rows)), 1,
            arm_compute::DataType::F32, arm_compute::Strides(sizeof(float), stride), 0,
            stride * static_cast<size_t>(rows));
  return info;
}

// The library's tensor on somebody's memory; it takes inputs, too, without const.
class View {
 public:
  View(const float* data, int64_t rows, int64_t columns, int64_t row_step) {
    tensor_.allocator()->init(InfoOf(rows, columns, row_step));
    tensor_.allocator()->import_memory(const_cast<float*>(data));
  }

  arm_compute::Tensor* operator&() { return &tensor_; }

 private:
  arm_compute::Tensor tensor_;
};

// Eight lines at a time: a line of the cache is used up before it is gone.
void CopyTransposed(const float* from, int64_t from_step, int64_t rows, int64_t columns,
                    float* to) {
  constexpr int64_t kLines = 8;
  for (int64_t begin = 0; begin < rows; begin += kLines) {
    const int64_t end = std::min(begin + kLines, rows);
    for (int64_t c = 0; c < columns; ++c) {
      for (int64_t r = begin; r < end; ++r) to[r * columns + c] = from[c * from_step + r];
    }
  }
}

class AclGemm final : public Gemm {
 public:
  const char* name() const override { return "acl:gemm"; }

  // Room for every matrix: a and b row by row, c where it is added to.
  size_t scratch_bytes(const GemmShape& shape) const override {
    return static_cast<size_t>(shape.rows * shape.depth + shape.depth * shape.columns +
                               shape.rows * shape.columns) *
           sizeof(float);
  }

  void Run(const GemmShape& shape, const ConstMatrix& a, const ConstMatrix& b, const Matrix& c,
           Write write, std::byte* scratch) const override {
    auto* free = reinterpret_cast<float*>(scratch);
    const auto row_by_row = [&free](const ConstMatrix& matrix, int64_t rows, int64_t columns) {
      if (matrix.column_step == 1) return matrix;
      float* copy = free;
      free += rows * columns;
      CopyTransposed(matrix.data, matrix.column_step, rows, columns, copy);
      return ConstMatrix{copy, columns};
    };
    const ConstMatrix left = row_by_row(a, shape.rows, shape.depth);
    const ConstMatrix right = row_by_row(b, shape.depth, shape.columns);
    const Matrix product = write == Write::kAdd ? Matrix{free, shape.columns} : c;
    {
      View a_view(left.data, shape.rows, shape.depth, left.row_step);
      View b_view(right.data, shape.depth, shape.columns, right.row_step);
      View c_view(product.data, shape.rows, shape.columns, product.row_step);
      arm_compute::NEGEMMAssemblyDispatch multiply;
      multiply.configure(&a_view, &b_view, nullptr, &c_view, arm_compute::GEMMInfo());
      multiply.run();
    }
    if (write == Write::kOver) return;
    for (int64_t r = 0; r < shape.rows; ++r) {
      const float* from = product.data + r * product.row_step;
      float* to = c.data + r * c.row_step;
      for (int64_t i = 0; i < shape.columns; ++i) to[i] += from[i];
    }
  }
};

}  // namespace

std::unique_ptr<Gemm> MakeAclGemm(int threads) try {
  arm_compute::Scheduler::get().set_num_threads(static_cast<unsigned>(threads));
  const arm_compute::TensorInfo square = InfoOf(16, 16, 16);
  const arm_compute::Status status = arm_compute::NEGEMMAssemblyDispatch::validate(
      &square, &square, nullptr, &square, arm_compute::GEMMInfo());
  return bool(status) ? std::make_unique<AclGemm>() : nullptr;
} catch (const std::exception&) {
  return nullptr;
}

}  // namespace weft::acl
