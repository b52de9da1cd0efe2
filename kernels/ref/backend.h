// SPDX-License-Identifier: Apache-2.0
// The backend that is always there: every op in plain C++, in the plain layout, summed in double.
// It is the definition; the others are held against it, and what they lack falls to it.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/kernel.h"
#include "core/parallel.h"

namespace weft::ref {

class RefBackend final : public Backend {
 public:
  // `parallel` must outlive the backend and its kernels. Results do not depend on its threads.
  explicit RefBackend(Parallel& parallel) : parallel_(parallel) {}

  std::string_view name() const override { return "ref"; }
  // One kernel for whatever has a meaning. None for a role the layer does not have, for the
  // gradients of an op that is not in training, and for an activation on a layer that takes none.
  std::vector<std::unique_ptr<Kernel>> Offer(const OpSpec& op, Role role) override;
  // Never null.
  std::unique_ptr<Kernel> OfferReorder(const Shape& shape, int from_block, int to_block) override;

 private:
  Parallel& parallel_;
};

}  // namespace weft::ref
