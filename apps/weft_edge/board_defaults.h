// SPDX-License-Identifier: Apache-2.0
// What `weft-edge train` takes from the board's profile where nothing was typed.
#pragma once

#include "apps/weft_edge/train_flags.h"
#include "core/status.h"

namespace weft::apps {

// Looks at the board and fills in threads, memory budget and backends where they were not given,
// and the batch to try where a model is trained alone. Where the profile uses fewer processors than
// there are, the process keeps to them from now on. To be called before any thread is started.
Status TakeBoardDefaults(TrainFlags& flags);

}  // namespace weft::apps
