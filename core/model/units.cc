// SPDX-License-Identifier: Apache-2.0
#include "core/model/units.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <variant>

namespace weft::model {
namespace {

// For each node, the number of weighted layers on the longest way from the input up to and
// including it.
std::vector<int> Depths(std::span<const Node> nodes) {
  std::vector<int> depths(nodes.size());
  for (size_t id = 0; id < nodes.size(); ++id) {
    int before = 0;
    for (NodeId input : nodes[id].inputs) before = std::max(before, depths[input]);
    depths[id] = IsWeighted(nodes[id].layer) ? before + 1 : before;
  }
  return depths;
}

// For each node, the place of its unit.
std::vector<int> UnitOfEachNode(std::span<const Node> nodes) {
  const std::vector<int> depths = Depths(nodes);
  const int last_unit = *std::max_element(depths.begin(), depths.end()) - 1;
  std::vector<int> unit_of(nodes.size());
  for (size_t id = 0; id < nodes.size(); ++id) {
    const int own_unit = depths[id] - 1;
    const int next_unit = std::min(depths[id], last_unit);
    const Node& node = nodes[id];
    if (IsWeighted(node.layer)) {
      unit_of[id] = own_unit;
    } else if (std::holds_alternative<BatchNorm>(node.layer)) {
      // Right behind a convolution this is the convolution's unit. Elsewhere its input has joined
      // the next unit already, and so must it.
      unit_of[id] = unit_of[node.inputs[0]];
    } else {
      unit_of[id] = next_unit;
    }
  }
  return unit_of;
}

// The leading path components that all `names` share, each with its dot: "layer1.0.".
std::string CommonPath(const std::vector<std::string_view>& names) {
  std::string_view path = names.front();
  for (std::string_view name : names) {
    const auto differ = std::mismatch(path.begin(), path.end(), name.begin(), name.end()).first;
    path = path.substr(0, differ - path.begin());
  }
  return std::string(path.substr(0, path.rfind('.') + 1));
}

std::string NameOf(std::span<const Node> nodes, const Unit& unit, size_t depth) {
  std::vector<std::string_view> weighted;
  for (NodeId id : unit.nodes) {
    if (IsWeighted(nodes[id].layer)) weighted.push_back(nodes[id].name);
  }
  if (weighted.size() == 1) return std::string(weighted.front());
  return CommonPath(weighted) + "*@" + std::to_string(depth);
}

void AddNode(const Graph& graph, NodeId id, Unit& unit) {
  const Node& node = graph.nodes()[id];
  unit.nodes.push_back(id);
  unit.macs += node.macs;
  for (int i = 0; i < node.tensor_count; ++i) {
    const TensorId tensor_id = node.first_tensor + i;
    const TensorSpec& tensor = graph.tensors()[tensor_id];
    const bool trained = tensor.role == TensorRole::kParameter;
    (trained ? unit.parameters : unit.buffers).push_back(tensor_id);
    (trained ? unit.bytes : unit.buffer_bytes) += tensor.bytes();
  }
}

}  // namespace

std::vector<Unit> CutIntoUnits(const Graph& graph) {
  const std::span<const Node> nodes = graph.nodes();
  const std::vector<int> unit_of = UnitOfEachNode(nodes);
  std::vector<Unit> units(*std::max_element(unit_of.begin(), unit_of.end()) + 1);
  for (size_t id = 0; id < nodes.size(); ++id) {
    AddNode(graph, static_cast<NodeId>(id), units[unit_of[id]]);
  }
  for (size_t u = 0; u < units.size(); ++u) units[u].name = NameOf(nodes, units[u], u + 1);
  return units;
}

}  // namespace weft::model
