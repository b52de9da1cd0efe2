// SPDX-License-Identifier: Apache-2.0
// Whether what is about to be trained fits into the memory it may take, said before it takes any.
#pragma once

#include <cstddef>
#include <optional>

#include "apps/compute/memory_budget.h"
#include "apps/weft_edge/train_flags.h"
#include "core/model/graph.h"
#include "core/status.h"

namespace weft::apps {

// What is left of the budget when this process has taken `coming` bytes besides what it holds; 0,
// which is no limit, where there is no budget. The refusal tells whose budget it is.
Result<size_t> RoomFor(const TrainFlags& flags, size_t coming);

// A refusal for lack of memory, told so that it is clear whose budget it is and how to see what
// would fit.
Status InWordsOfBoard(const TrainFlags& flags, const Status& refusal);

// The batch of at most `batch` images that fits beside the parameters and `copies` of them. None:
// not even one image does.
Result<std::optional<Fit>> FitForBoard(const TrainFlags& flags, const model::Graph& graph,
                                       int batch, int copies);

}  // namespace weft::apps
