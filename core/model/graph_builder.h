// SPDX-License-Identifier: Apache-2.0
// Builds a Graph layer by layer, checking and measuring each one as it is added. The first mistake
// is remembered and told by Finish(), so a model reads top to bottom as if nothing could fail.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/model/graph.h"
#include "core/shape.h"
#include "core/status.h"

namespace weft::model {

class GraphBuilder {
 public:
  // `input` is one image, [C][H][W]; it becomes node kInput.
  GraphBuilder(std::string model_name, const Shape& input);

  static constexpr NodeId kInput = 0;

  // Adds a layer that reads `inputs` and returns its id. After a mistake nothing more is added and
  // the id is only good for being passed on.
  NodeId Add(std::string name, Layer layer, std::vector<NodeId> inputs);

  // The graph, whose output is the layer added last; or InvalidInput with a sentence that names
  // the first layer that does not fit, or that no other layer uses.
  Result<Graph> Finish() &&;

 private:
  void Fail(const std::string& sentence);
  Status CheckWhole() const;

  Graph graph_;
  std::set<std::string> names_;
  Status status_;
};

}  // namespace weft::model
