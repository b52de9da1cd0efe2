// SPDX-License-Identifier: Apache-2.0
#include "core/arena.h"

#include <algorithm>
#include <cassert>

namespace weft {

void* Arena::TakeBytes(size_t bytes, size_t alignment) {
  assert(alignment <= kAlignment);
  for (; current_ < blocks_.size(); ++current_) {
    Block& block = blocks_[current_];
    const size_t start = (block.used + alignment - 1) / alignment * alignment;
    if (start + bytes > block.size) continue;
    block.used = start + bytes;
    bytes_taken_ += bytes;
    return block.data.get() + start;
  }
  const size_t size = std::max(bytes, block_bytes_);
  Block block;
  block.data.reset(new (std::align_val_t(kAlignment)) std::byte[size]);
  block.size = size;
  block.used = bytes;
  blocks_.push_back(std::move(block));
  current_ = blocks_.size() - 1;
  bytes_taken_ += bytes;
  bytes_reserved_ += size;
  return blocks_.back().data.get();
}

void Arena::Reset() {
  for (Block& block : blocks_) block.used = 0;
  current_ = 0;
  bytes_taken_ = 0;
}

}  // namespace weft
