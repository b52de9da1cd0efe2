// SPDX-License-Identifier: Apache-2.0
#include "apps/compute/memory_budget.h"

#include "apps/compute/process_memory.h"
#include "core/byte_size.h"
#include "core/train/network.h"

namespace weft::apps {
namespace {

// Kernels that are generated when they are prepared.
constexpr size_t kGeneratedCode = 16 << 20;

}  // namespace

Result<size_t> BytesLeft(const std::string& budget, size_t coming) {
  if (budget.empty()) return size_t{0};
  Result<size_t> bytes = ParseBytes(budget);
  if (!bytes.ok()) return bytes;
  const size_t taken = static_cast<size_t>(ResidentBytes()) + coming + kGeneratedCode;
  if (taken >= *bytes) {
    return Status::InvalidInput("a memory budget of " + budget + " is below the " +
                                std::to_string((taken >> 20) + 1) +
                                " MiB that parameters, optimizer and the program itself take; give "
                                "more, or choose a smaller model");
  }
  return *bytes - taken;
}

size_t ParameterBytes(const model::Graph& graph) {
  return sizeof(float) * static_cast<size_t>(graph.parameter_count());
}

size_t ReadAheadBytes(const model::Graph& graph, int batch) {
  constexpr size_t kBatches = 3;
  return kBatches * sizeof(float) * static_cast<size_t>(batch * graph.input_shape().elements());
}

std::optional<Fit> FitBatch(const model::Graph& graph, const FitQuestion& question,
                            ComputeStack& compute) {
  const size_t fixed = question.held_bytes + kGeneratedCode +
                       ParameterBytes(graph) * static_cast<size_t>(1 + question.copies);
  const bool limited = question.budget_bytes > 0;
  // Asked first, because a plan for more than the machine has could not even be made.
  if (limited && fixed >= question.budget_bytes) return std::nullopt;
  train::Parameters parameters(graph, train::Parameters::Contents::kUntouched);
  size_t statistics = 0;  // as the first plan says; a batch changes nothing about them
  for (int batch = question.batch;; batch /= 2) {
    const size_t taken = fixed + statistics + ReadAheadBytes(graph, batch);
    const bool last = batch == 1;
    if (!limited || taken < question.budget_bytes) {
      const size_t left = limited ? question.budget_bytes - taken : 0;
      // Looking for what to compute again takes long, so only the last one is asked that way.
      const Result<train::MemoryTable> table =
          train::Network::Plan(parameters, compute.registry(), compute.parallel(),
                               {.batch = batch,
                                .training = true,
                                .keep_gradients = false,
                                .memory_budget = last ? left : 0});
      const size_t planned = table.ok() ? table->activations + table->kernels : 0;
      const size_t more = table.ok() ? table->statistics - statistics : 0;
      if (table.ok() && (!limited || planned + more <= left)) {
        return Fit{batch, taken + more + planned, table->work_again};
      }
      statistics += more;
    }
    if (last) return std::nullopt;
  }
}

}  // namespace weft::apps
