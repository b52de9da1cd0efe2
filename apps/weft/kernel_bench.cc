// SPDX-License-Identifier: Apache-2.0
#include "apps/weft/kernel_bench.h"

#include <map>

#include "core/model/zoo.h"
#include "core/train/program.h"

namespace weft::apps {

Result<std::vector<KernelBenchRow>> BenchKernels(const KernelBenchSetting& setting,
                                                 const Clock& clock) {
  Result<model::Graph> graph = model::BuildModel(setting.model);
  if (!graph.ok()) return graph.status();
  Result<std::unique_ptr<ComputeStack>> compute = ComputeStack::Create(setting.compute, clock);
  if (!compute.ok()) return compute.status();
  Registry& registry = (*compute)->registry();
  std::vector<KernelBenchRow> rows;
  std::map<std::string, size_t> row_of;  // by what the registry knows an op by
  const train::Program program = train::LowerGraph(*graph, setting.batch, true);
  for (const train::Op& op : program.ops) {
    if (train::IsView(op)) continue;
    for (Role role : {Role::kForward, Role::kBackwardData, Role::kBackwardWeights}) {
      if (role == Role::kBackwardData && op.srcs[0] == 0) continue;  // the image's gradient
      const auto [place, fresh] = row_of.try_emplace(OpKey(op.spec, role), rows.size());
      if (!fresh) {
        if (place->second < rows.size()) ++rows[place->second].layers;
        continue;
      }
      std::vector<Registry::TimedKernel> kernels = registry.TimeAll(op.spec, role);
      if (kernels.empty()) {
        place->second = SIZE_MAX;
        continue;
      }
      rows.push_back({.op = op.name,
                      .layers = 1,
                      .role = role,
                      .macs = op.macs,
                      .kernels = std::move(kernels)});
    }
  }
  (*compute)->KeepTimes();
  return rows;
}

}  // namespace weft::apps
