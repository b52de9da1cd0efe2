// SPDX-License-Identifier: Apache-2.0
// Where the broker is, who we are to it, and how much memory its connection may take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "net/payload.h"

namespace weft::net {

struct MqttSetting {
  std::string host;
  int port = 1883;
  std::string client_id;  // a broker that goes by certificates or user names may replace it
  std::string username = {};

  // The authority that signed the broker's certificate; empty: plain TCP, for trusted networks.
  std::string ca_file = {};
  std::string certificate_file = {};  // our own, if the broker asks for one; then with its key
  std::string key_file = {};

  std::vector<std::string> subscriptions = {};
  // What the broker publishes should we vanish without having left; no topic: nothing.
  std::string will_topic = {};
  Payload will_payload = {};

  int keepalive_s = 10;       // a silent broker is given up after twice this; at least 5
  int receive_maximum = 128;  // messages the broker may send ahead of our acknowledgements

  int64_t payload_bytes = 16 << 20;    // of one message, either way
  int64_t outgoing_bytes = 64 << 20;   // published and not yet acknowledged by the broker
  int64_t incoming_bytes = 256 << 20;  // received and not yet polled

  int64_t connect_timeout_ms = 10'000;
  int64_t least_pause_ms = 100;  // between attempts to connect: doubled each time, a random half of
  int64_t most_pause_ms = 5'000;  // it taken away
  uint64_t seed = 0;              // of that randomness
};

// InvalidInput with what is wrong.
Status Validate(const MqttSetting& setting);

}  // namespace weft::net
