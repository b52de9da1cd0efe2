// SPDX-License-Identifier: Apache-2.0
// One server of one job: everything from the model to the saved result, put together.
#pragma once

#include <atomic>

#include "apps/terminal/console.h"
#include "apps/weft_ps/serve_flags.h"
#include "core/status.h"

namespace weft::apps {

Status Serve(const ServeFlags& flags, Console& console, const std::atomic<bool>& stop);

}  // namespace weft::apps
