// SPDX-License-Identifier: Apache-2.0
// The last rounds of one device of a job for Perfetto: what was done when, and beside each round,
// from where it began, what had been predicted of it.
#pragma once

#include <deque>
#include <string>

#include "core/status.h"
#include "sched/runtime/transfer_scheduler.h"

namespace weft::apps {

// `name` is the device's; `units` are for their names. Failure: the file cannot be written.
Status WriteJobTrace(const std::string& path, const std::string& name,
                     const std::deque<sched::RoundTrace>& rounds,
                     std::span<const sched::UnitCost> units);

}  // namespace weft::apps
