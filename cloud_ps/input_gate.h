// SPDX-License-Identifier: Apache-2.0
// The first look at what a broker hands over: size, structure, version, who says it and to which
// job. Nothing behind the gate sees a message that is not whole and not its sender's own. What
// depends on the state of the job, such as rounds, is for the server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "net/message.h"
#include "net/payload.h"
#include "net/topics.h"

namespace weft::ps {

class InputGate {
 public:
  struct Setting {
    std::string job = {};
    int shard = 0;
    int shards = 1;
    int64_t max_message_bytes = 0;
  };
  explicit InputGate(const Setting& setting);

  // Why a message goes no further, and whom to tell.
  struct Turned {
    net::Refusal refusal = {};
    std::string worker = {};                 // whose topic it came by; empty if it is none of ours
    std::optional<net::Header> header = {};  // if it could be read
    uint64_t ticket = 0;                     // of a segment, as the next
    uint64_t sequence = 0;
  };

  // `payload` must outlive the message, which looks into it.
  std::variant<net::Message, Turned> Look(const std::string& topic, const net::Payload& payload,
                                          bool retained) const;

 private:
  const Setting setting_;
  const std::string level_;
};

}  // namespace weft::ps
