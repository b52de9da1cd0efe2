// SPDX-License-Identifier: Apache-2.0
#include "apps/weft/training_memory.h"

#include <fmt/format.h>

#include "apps/compute/compute_stack.h"
#include "apps/terminal/text.h"
#include "core/train/network.h"
#include "core/train/parameters.h"

namespace weft::apps {

Result<std::vector<TrainingMemory>> PlanTrainingMemory(const model::Graph& graph, int batch) {
  const SteadyClock clock;
  Result<std::unique_ptr<ComputeStack>> compute = ComputeStack::Create({.measure = false}, clock);
  if (!compute.ok()) return compute.status();
  train::Parameters parameters(graph, train::Parameters::Contents::kUntouched);
  std::vector<TrainingMemory> rows;
  size_t budget = 0;  // none
  for (size_t percent : {100, 75, 50, 35, 25}) {
    if (!rows.empty()) budget = static_cast<size_t>(rows[0].activations) / 100 * percent;
    Result<train::MemoryTable> table = train::Network::Plan(
        parameters, (*compute)->registry(), (*compute)->parallel(),
        {.batch = batch, .training = true, .keep_gradients = false, .memory_budget = budget});
    if (!table.ok()) break;
    rows.push_back({.parameters = static_cast<int64_t>(table->parameters + table->statistics),
                    .optimizer = static_cast<int64_t>(table->parameters),
                    .activations = static_cast<int64_t>(table->activations + table->kernels),
                    .activations_unshared = static_cast<int64_t>(table->activations_unshared),
                    .work_again = table->work_again});
  }
  return rows;
}

std::string MemoryTableText(const std::vector<TrainingMemory>& rows, int batch) {
  constexpr int64_t kProgram = 40 << 20;  // code, libraries, batches read ahead
  Table table(
      {"--memory-budget", "parameters", "momentum", "activations", "total", "computed again"});
  for (const TrainingMemory& row : rows) {
    const int64_t mebibytes = ((row.total() + kProgram) >> 20) + 1;
    table.Add({&row == rows.data() ? "none" : std::to_string(mebibytes) + "MiB",
               BytesText(row.parameters), BytesText(row.optimizer), BytesText(row.activations),
               BytesText(row.total()), fmt::format("{:.0f} % of forward", 100 * row.work_again)});
  }
  return fmt::format(
      "Memory to train batches of {} on one device, by SGD with momentum:\n\n{}\nActivations come "
      "with their gradients, those of a unit's parameters, and scratch; they would take {}\nif "
      "nothing shared its place. A budget is for the whole program, which is {} of it.\n",
      batch, table.Text(), BytesText(rows[0].activations_unshared), BytesText(kProgram));
}

}  // namespace weft::apps
