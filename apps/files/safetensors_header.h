// SPDX-License-Identifier: Apache-2.0
// The header of a safetensors file: a JSON object with the type, shape and place of each tensor.
// Files come from anywhere, so everything in a header is checked before any of it is used.
// Format: https://github.com/huggingface/safetensors
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace weft::apps {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;           // "F32"; one of the format's own
  std::vector<int64_t> shape;  // empty for a scalar
  uint64_t begin = 0;          // in the data that follows the header
  uint64_t bytes = 0;          // elements() times the size of the dtype

  uint64_t elements() const;
  std::string ShapeText() const;  // "[64, 3, 7, 7]"
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;        // by their place in the data
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

// A header longer than this is refused; that of a network with a thousand tensors has 0.1 MiB.
inline constexpr uint64_t kMostHeaderBytes = 16 << 20;

// Takes the JSON text of a header whose data has `data_bytes`. The tensors must fill the data
// exactly, without gaps or overlaps. InvalidInput names the tensor.
Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json, uint64_t data_bytes);

// The opposite. Entries are written in the order given.
std::string SafetensorsHeaderJson(const SafetensorsHeader& header);

// A tensor's name for messages: in quotes, control characters escaped, cut off if long.
std::string QuotedName(std::string_view name);

}  // namespace weft::apps
