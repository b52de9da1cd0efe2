// SPDX-License-Identifier: Apache-2.0
// Whether a device can do its part of a job: the model, the data, the memory.
#pragma once

#include <memory>
#include <string>

#include "apps/compute/compute_stack.h"
#include "apps/doctor/examination.h"
#include "core/model/graph.h"
#include "net/message.h"

namespace weft::apps {

// This build makes the job's model; it is put into `graph`.
Finding CheckModel(const net::Welcome& job, std::unique_ptr<model::Graph>& graph);

// The set that `spec` names can be opened, its test part too where that is wanted, and a model with
// `graph`'s classes and channels can learn from it; null: any could.
Finding CheckData(const std::string& spec, bool with_test, const model::Graph* graph);

struct MemoryQuestion {
  int batch = 0;
  size_t copies = 0;  // of the parameters, besides them: on the wire, or in the optimizer
  std::string budget = {};
  int service_percent = 0;  // of the machine's memory that the service may take; 0: all
  ComputeSetting compute = {};
  std::string root = {};  // in front of /proc and /sys
};
// Training fits into the budget, and that, or what it takes without one, into the machine.
Finding CheckMemory(const model::Graph& graph, const MemoryQuestion& question);

}  // namespace weft::apps
