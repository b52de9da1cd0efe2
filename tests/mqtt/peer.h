// SPDX-License-Identifier: Apache-2.0
// A transport of a test, and everything it was told.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "net/mqtt/mqtt_transport.h"
#include "tests/mqtt/broker.h"

namespace weft::net {

class Peer final : public TransportEvents {
 public:
  struct Message {
    std::string topic;
    Payload payload;
    bool retained;
  };

  // The setting must be good. Short pauses between attempts, so that tests are.
  explicit Peer(MqttSetting setting);

  // Polls until `enough`; false if that takes more than `seconds`.
  bool Until(const std::function<bool()>& enough, double seconds = 30);
  // The same for what must not happen: false if it does.
  bool Never(const std::function<bool()>& it, double seconds) { return !Until(it, seconds); }
  bool AwaitConnected() {
    return Until([this] { return connected; });
  }
  bool AwaitMessages(size_t count) {
    return Until([this, count] { return messages.size() >= count; });
  }
  void Say(const std::string& topic, const std::string& text);
  std::string Text(size_t message) const;
  // Of the last Disconnected, or empty.
  std::string Why() const { return reasons.empty() ? "" : reasons.back().message(); }

  void Connected(const ConnectionLimits& new_limits) override;
  void Disconnected(const Status& why) override;
  void Received(const std::string& topic, Payload payload, bool retained) override;
  void PublishProblem(const std::string& topic, const Status& why) override;

  static const SteadyClock clock;
  std::unique_ptr<MqttTransport> transport;
  bool connected = false;
  int connections = 0;
  ConnectionLimits limits;
  std::vector<Status> reasons;
  std::vector<Message> messages;
  std::vector<std::pair<std::string, Status>> problems;
};

Payload PayloadOf(const std::string& text);

// `name` at the broker, as client and as user, listening there.
MqttSetting Settings(int port, const std::string& name,
                     const std::vector<std::string>& subscriptions = {});

}  // namespace weft::net
