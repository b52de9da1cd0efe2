// SPDX-License-Identifier: Apache-2.0
// Messages to bytes and back. What Decode lets through is well formed: every offset in the bytes,
// every enum one of ours, every name a name, every size possible. Whether it fits the job is for
// the receiver to say.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <variant>

#include "net/message.h"
#include "net/payload.h"

namespace weft::net {

// What a message of ours takes beside the data of a segment, at most.
inline constexpr int64_t kEnvelopeBytes = 1024;

Payload Encode(const Message& message);

// The message, looking into `bytes`, or why it is none.
std::variant<Message, Refusal> Decode(std::span<const std::byte> bytes);

// Whether the data are those the sender had.
bool ChecksumHolds(const Segment& segment);

}  // namespace weft::net
