// SPDX-License-Identifier: Apache-2.0
#include "apps/job/job_model.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "apps/files/sha256.h"
#include "core/hex_text.h"
#include "core/model/units.h"
#include "core/model/zoo.h"

namespace weft::apps {
namespace {

int64_t StatisticsOf(const model::Graph& graph, const model::Unit& unit) {
  int64_t floats = 0;
  for (const model::TensorId id : unit.buffers) {
    const model::TensorSpec& tensor = graph.tensors()[static_cast<size_t>(id)];
    if (tensor.role == model::TensorRole::kRunningStatistic) floats += tensor.shape.elements();
  }
  return floats;
}

}  // namespace

Result<net::WireLayout> WireLayoutOf(const model::Graph& graph) {
  std::vector<net::WireUnit> units;
  for (const model::Unit& unit : model::CutIntoUnits(graph)) {
    units.push_back({.name = unit.name,
                     .parameters = unit.bytes / static_cast<int64_t>(sizeof(float)),
                     .statistics = StatisticsOf(graph, unit)});
  }
  return net::WireLayout::Create(std::move(units));
}

net::ModelHash ArchitectureHash(const model::Graph& graph) {
  // A canonical text; its form is part of the protocol.
  std::string text = graph.name() + " " + graph.input_shape().ToString() + "\n";
  for (const model::Node& node : graph.nodes()) {
    text += node.name + " " + node.output.ToString();
    for (const model::NodeId input : node.inputs) text += " " + std::to_string(input);
    text += "\n";
  }
  for (const model::TensorSpec& tensor : graph.tensors()) {
    text += tensor.name + " " + tensor.shape.ToString() + "\n";
  }
  Sha256 sha;
  sha.Add(std::as_bytes(std::span(text)));
  return sha.Finish();
}

Result<model::Graph> BuildJobModel(const net::Welcome& job) {
  Result<model::Graph> graph =
      model::BuildModel(job.model, {.classes = static_cast<int>(job.classes),
                                    .input = {job.input[0], job.input[1], job.input[2]}});
  // Another version of either side may be installed, or another job begun, before the next try.
  if (!graph.ok()) return Status::Unavailable("the job's model: " + graph.status().message());
  const net::ModelHash hash = ArchitectureHash(*graph);
  if (hash == job.model_hash) return graph;
  return Status::Unavailable("the server's " + job.model + " is " + HexText(job.model_hash) +
                             " and this device's is " + HexText(hash) +
                             "; install the same version on both");
}

UnitTensors::UnitTensors(train::Parameters& parameters) : parameters_(parameters) {
  statistics_begin_.push_back(0);
  for (const model::Unit& unit : model::CutIntoUnits(parameters.graph())) {
    statistics_begin_.push_back(statistics_begin_.back() + StatisticsOf(parameters.graph(), unit));
  }
}

std::span<float> UnitTensors::Values(int unit) const {
  const train::Parameters::Range range = parameters_.UnitRange(unit, unit);
  return parameters_.values().subspan(static_cast<size_t>(range.begin),
                                      static_cast<size_t>(range.end - range.begin));
}

std::span<float> UnitTensors::Statistics(int unit) const {
  const int64_t begin = statistics_begin_[static_cast<size_t>(unit)];
  const int64_t end = statistics_begin_[static_cast<size_t>(unit) + 1];
  return parameters_.statistics().subspan(static_cast<size_t>(begin),
                                          static_cast<size_t>(end - begin));
}

void UnitTensors::ToWire(net::WireLayout::UnitRange units, std::span<float> wire) const {
  auto to = wire.begin();
  for (int unit = units.first; unit <= units.last; ++unit) {
    for (const std::span<float> part : {Values(unit), Statistics(unit)}) {
      to = std::copy(part.begin(), part.end(), to);
    }
  }
  assert(to == wire.end());
}

void UnitTensors::FromWire(net::WireLayout::UnitRange units, std::span<const float> wire) const {
  auto from = wire.begin();
  for (int unit = units.first; unit <= units.last; ++unit) {
    for (const std::span<float> part : {Values(unit), Statistics(unit)}) {
      std::copy_n(from, part.size(), part.begin());
      from += static_cast<int64_t>(part.size());
    }
  }
  assert(from == wire.end());
}

}  // namespace weft::apps
