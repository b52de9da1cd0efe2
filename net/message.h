// SPDX-License-Identifier: Apache-2.0
// What weft says, as plain values; net/schema/weft.fbs is how it looks on the wire, and tells what
// each field means. Spans look into the sender's memory, or into the payload that was received.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "net/refusal.h"
#include "net/wire_layout.h"

namespace weft::net {

inline constexpr uint16_t kProtocolVersion = 1;

using ModelHash = std::array<std::byte, 32>;

struct Header {
  uint16_t version = kProtocolVersion;
  std::string job = {};
  uint16_t shard = 0;
  uint16_t shards = 1;
  uint64_t epoch = 0;  // 0: none known
  int64_t round = 0;
  std::string worker = {};
  uint64_t incarnation = 0;

  friend bool operator==(const Header&, const Header&) = default;
};

struct Hello {
  uint16_t least_version = kProtocolVersion;
  uint16_t most_version = kProtocolVersion;
  ModelHash model_hash = {};
  uint32_t batch = 0;
  std::string software = {};
  bool start_over = true;
};

// What a worker needs to know of a job; the first round and the ticket are its own.
struct Welcome {
  uint16_t version = kProtocolVersion;
  int64_t first_round = 0;
  std::string model = {};
  std::array<uint32_t, 3> input = {};  // channels, height, width
  uint32_t classes = 0;
  std::vector<WireUnit> units = {};
  uint32_t first_unit = 0;
  uint32_t last_unit = 0;
  std::vector<uint64_t> slice_ends = {};
  int64_t rounds = 0;
  uint32_t batch = 0;
  uint64_t seed = 0;
  double label_smoothing = 0;
  uint32_t heartbeat_ms = 0;
  uint32_t worker_timeout_ms = 0;
  uint64_t window_bytes = 0;
  uint64_t segment_bytes = 0;
  ModelHash model_hash = {};
  uint64_t ticket = 0;
  std::string strategy = {};
  uint32_t replan_rounds = 0;
};

struct Refuse {
  Refusal refusal;
};

// A Plan may have so many ends, and one more for each unit.
inline constexpr int64_t kPlanEnds = 4096;

struct Plan {
  uint64_t ticket = 0;
  std::vector<uint64_t> ends = {};
  bool has_parameters = false;
};

enum class SegmentKind : uint8_t { kGradients = 1, kParameters = 2 };

struct Segment {
  SegmentKind kind = SegmentKind::kGradients;
  uint64_t ticket = 0;
  uint64_t sequence = 0;
  uint32_t first_unit = 0;
  uint32_t last_unit = 0;
  uint64_t total = 0;   // bytes
  uint64_t offset = 0;  // bytes
  uint32_t crc32c = 0;  // set by Encode; checked by whoever receives
  std::span<const std::byte> data = {};
  bool follows = false;
};

struct Ack {
  uint64_t ticket = 0;
  std::vector<uint64_t> sequences = {};
  std::vector<int64_t> arrived_ns = {};
};

struct Nack {
  uint64_t ticket = 0;
  uint64_t sequence = 0;
  Refusal refusal = {};
};

struct Heartbeat {};

enum class GoodbyeKind : uint8_t { kLeaving = 1, kDied = 2, kDone = 3 };

struct Goodbye {
  GoodbyeKind kind = GoodbyeKind::kLeaving;
  std::string detail = {};
};

struct Telemetry {
  double loss = 0;
  uint64_t images = 0;
  uint64_t compute_ns = 0;
  uint64_t wait_ns = 0;
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
};

using Body =
    std::variant<Hello, Welcome, Refuse, Plan, Segment, Ack, Nack, Heartbeat, Goodbye, Telemetry>;

struct Message {
  Header header;
  Body body;
};

}  // namespace weft::net
