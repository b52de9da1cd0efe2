// SPDX-License-Identifier: Apache-2.0
#include "apps/doctor/device_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/compute/memory_budget.h"
#include "apps/compute/process_memory.h"
#include "apps/data/open_dataset.h"
#include "apps/doctor/board_checks.h"
#include "apps/job/job_model.h"
#include "apps/terminal/text.h"
#include "core/byte_size.h"
#include "core/clock.h"
#include "core/hex_text.h"
#include "core/train/network.h"
#include "core/train/parameters.h"

namespace weft::apps {

Finding CheckModel(const net::Welcome& job, std::unique_ptr<model::Graph>& graph) {
  Result<model::Graph> built = BuildJobModel(job);
  if (!built.ok()) return Bad(built.status(), "install the same version of weft on both sides");
  graph = std::make_unique<model::Graph>(std::move(built).value());
  return Good(fmt::format("{}, {}x{}x{}, {} classes, {}", job.model, job.input[0], job.input[1],
                          job.input[2], job.classes, HexText(job.model_hash).substr(0, 16)));
}

Finding CheckData(const std::string& spec, bool with_test, const model::Graph* graph) {
  constexpr const char* kFix = "give the images with --data KIND:PATH; docs/data.md has the kinds";
  if (spec.empty()) return Bad("--data is missing: the images this device trains on", kFix);
  Result<std::unique_ptr<train::Dataset>> set = OpenDataset(spec, Split::kTrain);
  if (!set.ok()) return Bad(set.status(), kFix);
  if (graph != nullptr) {
    const Status fits =
        CheckFits(**set, spec, graph->output_shape().elements(), graph->input_shape()[0]);
    if (!fits.ok()) return Bad(fits, "give data that fit the job with --data");
  }
  if (with_test) {
    const Result<std::unique_ptr<train::Dataset>> test = OpenDataset(spec, Split::kTest);
    if (!test.ok()) return Bad(test.status(), "leave --eval out, or add a test set");
  }
  return Good(fmt::format("{}: {} images{}, {} classes", spec, CountText((*set)->size()),
                          graph == nullptr ? "" : " that fit the model", (*set)->classes()));
}

Finding CheckMemory(const model::Graph& graph, const MemoryQuestion& question) {
  std::optional<MachineMemory> machine = MemoryOfMachine(question.root);
  std::string whose = "this machine has";
  if (machine && question.service_percent > 0) {
    machine->most = machine->most / 100 * question.service_percent;
    machine->available = std::min(machine->available, machine->most);
    whose = "the service may take";
  }
  const size_t coming =
      ReadAheadBytes(graph, question.batch) + (1 + question.copies) * ParameterBytes(graph);
  const std::string what = fmt::format("{} with batches of {}", graph.name(), question.batch);
  const char* const smaller = "give a smaller --batch, or the job a smaller model";
  // Not even asked for what there is certainly no room for.
  if (machine && static_cast<int64_t>(coming) > machine->most) {
    return Bad(
        fmt::format("{} takes more than the {} that {}", what, BytesText(machine->most), whose),
        smaller);
  }
  const SteadyClock clock;
  ComputeSetting setting = question.compute;
  setting.measure = false;
  Result<std::unique_ptr<ComputeStack>> compute = ComputeStack::Create(setting, clock);
  if (!compute.ok()) return Bad(compute.status(), "give another --backend");
  train::Parameters parameters(graph, train::Parameters::Contents::kUntouched);
  const auto before = static_cast<size_t>(ResidentBytes());
  Result<size_t> left = BytesLeft(question.budget, coming);
  if (!left.ok()) return Bad(left.status(), "raise --memory-budget");
  const Result<train::MemoryTable> table = train::Network::Plan(
      parameters, (*compute)->registry(), (*compute)->parallel(),
      {.batch = question.batch, .training = true, .keep_gradients = false, .memory_budget = *left});
  if (!table.ok()) {
    return Bad(what + ": " + table.status().message(),
               std::string("raise --memory-budget, or ") + smaller);
  }
  auto needed = static_cast<int64_t>(before + coming + table->activations + table->kernels);
  std::string detail = fmt::format("{} takes some {}", what, BytesText(needed));
  if (!question.budget.empty()) {
    const auto budget = static_cast<int64_t>(ParseBytes(question.budget).value());
    needed = std::min(needed, budget);
    detail += fmt::format(" of a budget of {}", question.budget);
  }
  if (!machine) return Good(detail);
  if (needed > machine->most) {
    return Bad(fmt::format("{}, and {} {}", detail, whose, BytesText(machine->most)),
               fmt::format("give --memory-budget {}MiB or less, or a smaller --batch",
                           (machine->most >> 20) * 8 / 10));
  }
  if (needed > machine->available) {
    return Doubtful(
        fmt::format("{}, and {} are free just now", detail, BytesText(machine->available)),
        "stop other programs, or give --memory-budget");
  }
  return Good(fmt::format("{}, {} are free", detail, BytesText(machine->available)));
}

}  // namespace weft::apps
