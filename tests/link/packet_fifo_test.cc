// SPDX-License-Identifier: Apache-2.0
#include "net/link/packet_fifo.h"

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "core/rng.h"
#include "net/link/tun_device.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {

namespace {

bool Push(PacketFifo& fifo, size_t bytes, int content) {
  const std::span<std::byte> room = fifo.Room();
  if (room.empty()) return false;
  std::fill_n(room.begin(), bytes, static_cast<std::byte>(content));
  fifo.Push(bytes);
  return true;
}

bool FrontIs(const PacketFifo& fifo, size_t bytes, int content) {
  const std::span<const std::byte> front = fifo.Front();
  return front.size() == bytes && std::all_of(front.begin(), front.end(), [content](std::byte b) {
           return b == static_cast<std::byte>(content);
         });
}

// A packet as the kernel hands it over: ten bytes of its own, then IP.
std::vector<std::byte> Packet(int gso_type, int gso_size, size_t ip_bytes, int ip_words,
                              int tcp_words) {
  std::vector<std::byte> packet(TunDevice::kHeaderBytes + ip_bytes);
  packet[1] = static_cast<std::byte>(gso_type);
  const auto size = static_cast<uint16_t>(gso_size);
  std::copy_n(reinterpret_cast<const std::byte*>(&size), 2, packet.begin() + 4);
  packet[10] = static_cast<std::byte>(0x40 | ip_words);
  packet[10 + static_cast<size_t>(ip_words) * 4 + 12] = static_cast<std::byte>(tcp_words << 4);
  return packet;
}

}  // namespace

TEST_GROUP(PacketFifo){};

TEST(PacketFifo, GivesBackWhatWasPutIn) {
  // The naive queue has what ours must have, whatever the order of comings and goings.
  Rng rng(3);
  for (int round = 0; round < 50; ++round) {
    PacketFifo fifo(100, 20'000);
    std::deque<std::pair<size_t, int>> naive;
    for (int i = 0; i < 3000; ++i) {
      // Rounds differ in how full the fifo is kept.
      if (rng.Between(0, 50) <= round ? rng.Between(0, 3) > 0 : rng.Between(0, 1) == 0) {
        const auto bytes = static_cast<size_t>(rng.Between(0, 100));
        if (Push(fifo, bytes, i & 0xFF)) naive.emplace_back(bytes, i & 0xFF);
      } else if (!naive.empty()) {
        CHECK(FrontIs(fifo, naive.front().first, naive.front().second));
        naive.pop_front();
        fifo.Pop();
      }
      CHECK_EQUAL(naive.empty(), fifo.empty());
    }
  }
}

TEST(PacketFifo, TakesNothingBeyondItsLimit) {
  PacketFifo fifo(1000, 10'000);
  int held = 0;
  while (Push(fifo, 1000, held)) ++held;
  LONGS_EQUAL(9, held);  // each with its size
  CHECK(fifo.Room().empty());
  for (int i = 0; i < held; ++i, fifo.Pop()) CHECK(FrontIs(fifo, 1000, i));
  CHECK(fifo.empty());
  CHECK(Push(fifo, 1000, 1));
}

TEST(PacketFifo, RoomThatIsNotUsedCostsNothing) {
  PacketFifo fifo(1000, 10'000);
  for (int i = 0; i < 100; ++i) LONGS_EQUAL(1000, fifo.Room().size());
  CHECK(Push(fifo, 10, 5));
  for (int i = 0; i < 100; ++i) LONGS_EQUAL(1000, fifo.Room().size());
  CHECK(FrontIs(fifo, 10, 5));
}

TEST_GROUP(SizeOnWire){};

TEST(SizeOnWire, APacketIsAPacket) {
  const WireSize size = SizeOnWire(Packet(0, 0, 1500, 5, 8));
  LONGLONGS_EQUAL(1, size.packets);
  LONGLONGS_EQUAL(1500, size.bytes);
}

TEST(SizeOnWire, EachPacketOfAPieceHasHeaders) {
  // Five segments of 1448 bytes and one of 100, each with 20 bytes of IP and 32 of TCP.
  const WireSize size = SizeOnWire(Packet(1, 1448, 52 + 5 * 1448 + 100, 5, 8));
  LONGLONGS_EQUAL(6, size.packets);
  LONGLONGS_EQUAL(5 * 1448 + 100 + 6 * 52, size.bytes);
}

}  // namespace weft::net
