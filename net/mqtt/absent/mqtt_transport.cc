// SPDX-License-Identifier: Apache-2.0
// Stands in for the transport where libmosquitto could not be linked: it refuses, and says why.
#include "net/mqtt/mqtt_transport.h"

#include <utility>

namespace weft::net {

Result<std::unique_ptr<MqttTransport>> MqttTransport::Create(const Clock&, MqttSetting) {
  return Status::InvalidInput(
      "this weft-edge is the static build, which cannot join a job: it has no MQTT, because "
      "libmosquitto comes only as a shared library; use the ordinary build, or train with --local");
}

// No object is ever made, so nobody calls what follows.
MqttTransport::MqttTransport(const Clock& clock, MqttSetting setting)
    : clock_(clock), setting_(std::move(setting)), mailbox_(clock, 0, 0) {}
MqttTransport::~MqttTransport() = default;
void MqttTransport::Publish(const std::string&, Payload) {}
void MqttTransport::Poll(TransportEvents&, int64_t) {}
void MqttTransport::Renew(const std::string&) {}
void MqttTransport::Wake() {}
int64_t MqttTransport::last_alive_ns() const { return 0; }

}  // namespace weft::net
