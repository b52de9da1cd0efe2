// SPDX-License-Identifier: Apache-2.0
#include "kernels/ref/backend.h"

#include <utility>
#include <variant>

#include "kernels/ref/op_kernel.h"
#include "kernels/ref/reorder.h"

namespace weft::ref {
namespace {

// The image is handed to the network, not computed.
Prepared Prepare(const model::Input&, const OpSpec&, Role, Parallel&) { return nullptr; }

class ReorderKernel final : public Kernel {
 public:
  ReorderKernel(const Shape& shape, int from_block, int to_block)
      : shape_(shape), from_block_(from_block), to_block_(to_block) {}

  std::string_view name() const override { return "ref"; }
  int src_block() const override { return from_block_; }
  int dst_block() const override { return to_block_; }
  void Run(const KernelArgs& args) override {
    Reorder(shape_, args.srcs[0], from_block_, args.dst, to_block_);
  }

 private:
  const Shape shape_;
  const int from_block_;
  const int to_block_;
};

}  // namespace

std::vector<std::unique_ptr<Kernel>> RefBackend::Offer(const OpSpec& op, Role role) {
  std::vector<std::unique_ptr<Kernel>> offer;
  if (role != Role::kForward && !op.training) return offer;
  if (op.activation != Activation::kNone && !TakesActivation(op.layer)) return offer;
  Prepared kernel =
      std::visit([&](const auto& layer) { return Prepare(layer, op, role, parallel_); }, op.layer);
  if (kernel) offer.push_back(std::move(kernel));
  return offer;
}

std::unique_ptr<Kernel> RefBackend::OfferReorder(const Shape& shape, int from_block, int to_block) {
  return std::make_unique<ReorderKernel>(shape, from_block, to_block);
}

}  // namespace weft::ref
