// SPDX-License-Identifier: Apache-2.0
// What a server's flags amount to, before anything is opened: the model, and in what pieces it
// travels.
#pragma once

#include <cstdint>

#include "apps/weft_ps/serve_flags.h"
#include "core/model/graph.h"
#include "core/status.h"
#include "net/wire_layout.h"

namespace weft::apps {

// Each fails with InvalidInput, and a sentence about the flag.
Result<model::Graph> BuildServedModel(const ServeFlags& flags);

// Which part of the model the server has. One of several has nothing whole to save.
Result<Share> ParseShard(const ServeFlags& flags);

struct MessageSizes {
  int64_t segment = 0;  // bytes
  int64_t window = 0;   // bytes
  int64_t slice_floats = 0;
};
Result<MessageSizes> ParseSizes(const ServeFlags& flags, const net::WireLayout& layout);

}  // namespace weft::apps
