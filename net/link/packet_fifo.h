// SPDX-License-Identifier: Apache-2.0
// Packets on their way, first in, first out, in one piece of memory that is used round and round.
// It doubles when it must, and never allocates otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace weft::net {

class PacketFifo {
 public:
  // No packet is larger than `packet_bytes`; all of them together take `most_bytes`, at most.
  PacketFifo(size_t packet_bytes, size_t most_bytes);

  // Where the next packet may be written, `packet_bytes` of room; empty if there is too much on the
  // way. Valid until the next call.
  std::span<std::byte> Room();
  // The first `bytes` that were written to Room() are the next packet.
  void Push(size_t bytes);

  bool empty() const { return count_ == 0; }
  // The first of them. There must be one.
  std::span<const std::byte> Front() const;
  void Pop();

 private:
  using Size = uint64_t;  // stands in front of a packet, and is aligned

  size_t RoomAt() const;
  void Grow(size_t capacity);
  size_t AfterWrap(size_t at) const;

  const size_t record_bytes_;  // of the largest packet and its size
  const size_t most_bytes_;
  size_t capacity_;
  std::unique_ptr<std::byte[]> bytes_;
  size_t head_ = 0;  // the first packet's size
  size_t tail_ = 0;  // behind the last packet
  size_t room_ = 0;  // what Room() gave
  size_t count_ = 0;
};

}  // namespace weft::net
