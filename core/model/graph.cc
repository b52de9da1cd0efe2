// SPDX-License-Identifier: Apache-2.0
#include "core/model/graph.h"

namespace weft::model {

int64_t Graph::parameter_count() const {
  int64_t count = 0;
  for (const TensorSpec& tensor : tensors_) {
    if (tensor.role == TensorRole::kParameter) count += tensor.shape.elements();
  }
  return count;
}

int64_t Graph::macs() const {
  int64_t macs = 0;
  for (const Node& node : nodes_) macs += node.macs;
  return macs;
}

}  // namespace weft::model
