// SPDX-License-Identifier: Apache-2.0
#include "tests/mqtt/peer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace weft::net {

const SteadyClock Peer::clock;

Peer::Peer(MqttSetting setting) {
  Result<std::unique_ptr<MqttTransport>> made = MqttTransport::Create(clock, std::move(setting));
  if (!made.ok()) {
    std::fprintf(stderr, "%s\n", made.status().message().c_str());
    std::abort();
  }
  transport = std::move(*made);
}

bool Peer::Until(const std::function<bool()>& enough, double seconds) {
  const int64_t until_ns = clock.NowNs() + static_cast<int64_t>(seconds * 1e9);
  while (!enough()) {
    const int64_t now_ns = clock.NowNs();
    if (now_ns >= until_ns) return false;
    // What `enough` asks may also be the other peer's doing, or a count.
    transport->Poll(*this, std::min(until_ns, now_ns + 20'000'000));
  }
  return true;
}

void Peer::Say(const std::string& topic, const std::string& text) {
  transport->Publish(topic, PayloadOf(text));
}

std::string Peer::Text(size_t message) const {
  const std::span<const std::byte> bytes = messages.at(message).payload.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void Peer::Connected(const ConnectionLimits& new_limits) {
  connected = true;
  ++connections;
  limits = new_limits;
}

void Peer::Disconnected(const Status& why) {
  connected = false;
  reasons.push_back(why);
}

void Peer::Received(const std::string& topic, Payload payload, bool retained) {
  messages.push_back({topic, std::move(payload), retained});
}

void Peer::PublishProblem(const std::string& topic, const Status& why) {
  problems.emplace_back(topic, why);
}

Payload PayloadOf(const std::string& text) {
  return Payload::CopyOf(std::as_bytes(std::span(text)));
}

MqttSetting Settings(int port, const std::string& name,
                     const std::vector<std::string>& subscriptions) {
  return {.host = "127.0.0.1",
          .port = port,
          .client_id = name,
          .username = name,
          .subscriptions = subscriptions,
          .keepalive_s = 5,
          .seed = 1};
}

}  // namespace weft::net
