// SPDX-License-Identifier: Apache-2.0
// Memory that is taken piece by piece and given back all at once. Pieces are aligned for any
// vector unit and never move. Thread: one at a time; the owner decides which.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

namespace weft {

class Arena {
 public:
  static constexpr size_t kAlignment = 64;

  // `block_bytes` is what is asked of the system at a time; larger pieces get their own block.
  explicit Arena(size_t block_bytes) : block_bytes_(block_bytes) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Uninitialised room for `count` values, valid until Reset or destruction.
  template <typename T>
  std::span<T> Take(size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    return {static_cast<T*>(TakeBytes(count * sizeof(T), alignof(T))), count};
  }

  // Gives every piece back and keeps the blocks, so that the same work again allocates nothing.
  void Reset();

  size_t bytes_taken() const { return bytes_taken_; }
  size_t bytes_reserved() const { return bytes_reserved_; }

 private:
  struct AlignedDelete {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t(kAlignment)); }
  };
  struct Block {
    std::unique_ptr<std::byte[], AlignedDelete> data;
    size_t size = 0;
    size_t used = 0;
  };

  void* TakeBytes(size_t bytes, size_t alignment);

  size_t block_bytes_;
  std::vector<Block> blocks_;
  size_t current_ = 0;  // the block that pieces are cut from
  size_t bytes_taken_ = 0;
  size_t bytes_reserved_ = 0;
};

}  // namespace weft
