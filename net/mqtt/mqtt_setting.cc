// SPDX-License-Identifier: Apache-2.0
#include "net/mqtt/mqtt_setting.h"

#include <mosquitto.h>

#include "net/mqtt/mailbox.h"

namespace weft::net {

Status Validate(const MqttSetting& setting) {
  if (setting.host.empty()) return Status::InvalidInput("the broker needs a host name");
  if (setting.port < 1 || setting.port > 65'535) {
    return Status::InvalidInput("the broker's port is " + std::to_string(setting.port) +
                                ", which is not between 1 and 65535");
  }
  if (setting.client_id.empty()) return Status::InvalidInput("the client id is empty");
  if (setting.certificate_file.empty() != setting.key_file.empty()) {
    return Status::InvalidInput("a certificate and its key are given together or not at all");
  }
  if (setting.ca_file.empty() && !setting.certificate_file.empty()) {
    return Status::InvalidInput(
        "a certificate is given but no CA file to check the broker's own with");
  }
  for (const std::string& topic : setting.subscriptions) {
    if (topic.empty() || mosquitto_sub_topic_check(topic.c_str()) != MOSQ_ERR_SUCCESS) {
      return Status::InvalidInput("'" + topic + "' cannot be subscribed to");
    }
  }
  if (!setting.will_topic.empty() &&
      (mosquitto_pub_topic_check(setting.will_topic.c_str()) != MOSQ_ERR_SUCCESS ||
       setting.will_payload.size() > 65'535)) {
    return Status::InvalidInput("the will for '" + setting.will_topic +
                                "' needs a topic without wildcards and at most 65535 bytes");
  }
  if (setting.keepalive_s < 5 || setting.keepalive_s > 65'535) {
    return Status::InvalidInput("the keepalive is " + std::to_string(setting.keepalive_s) +
                                " s, which is not between 5 and 65535");
  }
  if (setting.receive_maximum < 1 || setting.receive_maximum > 65'535) {
    return Status::InvalidInput("the receive maximum is not between 1 and 65535");
  }
  if (setting.payload_bytes < 1 ||
      setting.outgoing_bytes < setting.payload_bytes + Mailbox::kMessageOverhead ||
      setting.incoming_bytes < setting.payload_bytes + Mailbox::kMessageOverhead) {
    return Status::InvalidInput("there must be room for one message of " +
                                std::to_string(setting.payload_bytes) + " bytes and " +
                                std::to_string(Mailbox::kMessageOverhead) + " more, both ways");
  }
  if (setting.connect_timeout_ms < 1 || setting.least_pause_ms < 1 ||
      setting.most_pause_ms < setting.least_pause_ms) {
    return Status::InvalidInput("timeouts and pauses must be positive, the longest not the least");
  }
  return Status::Ok();
}

}  // namespace weft::net
