// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_ps/served_job.h"

#include <algorithm>
#include <cstdio>

#include "core/byte_size.h"
#include "core/model/zoo.h"

namespace weft::apps {
namespace {

// Slices are turned around one by one, and workers' plans are cut where slices end. A plan has no
// more than about so many.
constexpr int64_t kLeastSlice = 64 << 10;

// "3x32x32"
Result<Shape> ParseInput(const std::string& text) {
  int c = 0;
  int h = 0;
  int w = 0;
  int used = 0;
  if (std::sscanf(text.c_str(), "%dx%dx%d%n", &c, &h, &w, &used) != 3 ||
      static_cast<size_t>(used) != text.size() || c < 1 || h < 1 || w < 1) {
    return Status::InvalidInput("--input '" + text +
                                "' is not CHANNELSxHEIGHTxWIDTH, such as 3x32x32");
  }
  return Shape{c, h, w};
}

}  // namespace

Result<model::Graph> BuildServedModel(const ServeFlags& flags) {
  model::ModelOptions options{.classes = flags.classes};
  if (!flags.input.empty()) {
    Result<Shape> input = ParseInput(flags.input);
    if (!input.ok()) return input.status();
    options.input = *input;
  }
  return model::BuildModel(flags.model, options);
}

Result<Share> ParseShard(const ServeFlags& flags) {
  Result<Share> shard = ParseShare(flags.shard, "--shard");
  if (shard.ok() && shard->count > 1 && !flags.save.empty()) {
    return Status::InvalidInput("--save: this server has only a part of the model (--shard " +
                                flags.shard + "); leave it out, and give --save to a device");
  }
  return shard;
}

Result<MessageSizes> ParseSizes(const ServeFlags& flags, const net::WireLayout& layout) {
  int64_t segment = 0;
  int64_t window = 0;
  int64_t slice = 0;
  const struct {
    const std::string& text;
    const char* flag;
    int64_t& bytes;
  } sizes[] = {{flags.segment, "--segment", segment},
               {flags.window, "--window", window},
               {flags.slice, "--slice", slice}};
  for (const auto& size : sizes) {
    if (size.text.empty()) continue;
    Result<size_t> bytes = ParseBytes(size.text);
    if (!bytes.ok()) return bytes.status().WithContext(size.flag);
    size.bytes = static_cast<int64_t>(*bytes);
  }
  if (segment < 1024 || window < segment) {
    return Status::InvalidInput("--segment must be at least 1KiB and --window at least a segment");
  }
  if (slice == 0) {
    const auto model = static_cast<int64_t>(sizeof(float)) * layout.floats();
    slice = std::max<int64_t>(model / kSlices, kLeastSlice);
  }
  return MessageSizes{.segment = segment,
                      .window = window,
                      .slice_floats = slice / static_cast<int64_t>(sizeof(float))};
}

}  // namespace weft::apps
