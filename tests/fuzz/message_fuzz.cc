// SPDX-License-Identifier: Apache-2.0
// Any bytes are refused or read as a message that, written and read again, is the same. They are
// tried as they are and with a checksum that fits, or nothing would ever get behind it.
#include <vector>

#include "net/codec/codec.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/net/sample_messages.h"
#include "tests/net/seal.h"

namespace weft::net {
namespace {

void Try(std::span<const std::byte> bytes) {
  const Payload payload = Payload::CopyOf(bytes);
  const auto decoded = Decode(payload.bytes());
  if (const auto* refusal = std::get_if<Refusal>(&decoded)) {
    MustHold(Name(refusal->reason) != "UNKNOWN_REASON", "a refusal has a reason");
    return;
  }
  Message message = std::get<Message>(decoded);
  // Encode sums data up itself; what came may have said otherwise.
  auto* segment = std::get_if<Segment>(&message.body);
  const bool holds = segment == nullptr || ChecksumHolds(*segment);
  const Payload again = Encode(message);
  const Payload copy = Payload::CopyOf(again.bytes());
  const auto back = Decode(copy.bytes());
  MustHold(std::holds_alternative<Message>(back), "what was read can be written and read");
  if (!holds) segment->crc32c = std::get<Segment>(std::get<Message>(back).body).crc32c;
  MustHold(Same(message, std::get<Message>(back)), "and is the same");
}

}  // namespace
}  // namespace weft::net

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = std::as_bytes(std::span<const uint8_t>(data, size));
  weft::net::Try(input);
  std::vector<std::byte> sealed(input.begin(), input.end());
  if (weft::net::Seal(sealed)) weft::net::Try(sealed);
  return 0;
}
