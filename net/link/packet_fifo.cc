// SPDX-License-Identifier: Apache-2.0
#include "net/link/packet_fifo.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

namespace weft::net {

namespace {

constexpr size_t kNowhere = std::numeric_limits<size_t>::max();
constexpr uint64_t kGoToStart = std::numeric_limits<uint64_t>::max();  // in the place of a size

size_t Aligned(size_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace

PacketFifo::PacketFifo(size_t packet_bytes, size_t most_bytes)
    : record_bytes_(sizeof(Size) + Aligned(packet_bytes)),
      most_bytes_(std::max(most_bytes / 8 * 8, 2 * record_bytes_)),
      capacity_(std::min(4 * record_bytes_, most_bytes_)),
      bytes_(std::make_unique_for_overwrite<std::byte[]>(capacity_)) {}

// Head and tail are equal only if nothing is in.
size_t PacketFifo::RoomAt() const {
  if (count_ == 0 || tail_ > head_) {
    if (capacity_ - tail_ >= record_bytes_) return tail_;
    return head_ > record_bytes_ ? 0 : kNowhere;
  }
  return head_ - tail_ > record_bytes_ ? tail_ : kNowhere;
}

std::span<std::byte> PacketFifo::Room() {
  if (count_ == 0) head_ = tail_ = 0;  // the same few pages again
  room_ = RoomAt();
  while (room_ == kNowhere) {
    if (capacity_ == most_bytes_) return {};
    Grow(std::min(2 * capacity_, most_bytes_));
    room_ = RoomAt();
  }
  return {bytes_.get() + room_ + sizeof(Size), record_bytes_ - sizeof(Size)};
}

void PacketFifo::Push(size_t bytes) {
  assert(room_ != kNowhere && bytes <= record_bytes_ - sizeof(Size));
  if (room_ != tail_ && tail_ < capacity_) {
    std::memcpy(bytes_.get() + tail_, &kGoToStart, sizeof(Size));
  }
  const Size size = bytes;
  std::memcpy(bytes_.get() + room_, &size, sizeof(Size));
  tail_ = room_ + sizeof(Size) + Aligned(bytes);
  room_ = kNowhere;
  ++count_;
}

size_t PacketFifo::AfterWrap(size_t at) const {
  if (at == capacity_) return 0;
  Size size = 0;
  std::memcpy(&size, bytes_.get() + at, sizeof(Size));
  return size == kGoToStart ? 0 : at;
}

std::span<const std::byte> PacketFifo::Front() const {
  assert(count_ > 0);
  Size size = 0;
  std::memcpy(&size, bytes_.get() + head_, sizeof(Size));
  return {bytes_.get() + head_ + sizeof(Size), static_cast<size_t>(size)};
}

void PacketFifo::Pop() {
  head_ += sizeof(Size) + Aligned(Front().size());
  if (--count_ > 0) head_ = AfterWrap(head_);
}

void PacketFifo::Grow(size_t capacity) {
  auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
  size_t end = 0;
  for (size_t at = head_, left = count_; left > 0; --left) {
    at = AfterWrap(at);
    Size size = 0;
    std::memcpy(&size, bytes_.get() + at, sizeof(Size));
    const size_t record = sizeof(Size) + Aligned(static_cast<size_t>(size));
    std::memcpy(larger.get() + end, bytes_.get() + at, record);
    at += record;
    end += record;
  }
  bytes_ = std::move(larger);
  capacity_ = capacity;
  head_ = 0;
  tail_ = end;
}

}  // namespace weft::net
