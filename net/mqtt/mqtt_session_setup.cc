// SPDX-License-Identifier: Apache-2.0
// How a connection is set up with the library: its callbacks.
#include <mosquitto.h>
#include <mqtt_protocol.h>

#include <algorithm>

#include "net/mqtt/mqtt_client.h"
#include "net/mqtt/mqtt_reasons.h"
#include "net/mqtt/mqtt_session.h"

namespace weft::net {

// Inside these nothing is done but to note what there is.
struct MqttSession::Callbacks {
  static MqttSession& Of(void* session) { return *static_cast<MqttSession*>(session); }

  static void OnConnect(mosquitto*, void* self, int reason_code, int,
                        const mosquitto_property* properties) {
    MqttSession& session = Of(self);
    ++session.packets_;
    session.connack_ = reason_code;
    uint32_t packet = kLargestPacket;
    mosquitto_property_read_int32(properties, MQTT_PROP_MAXIMUM_PACKET_SIZE, &packet, false);
    session.most_packet_bytes_ = std::min<int64_t>(packet, kLargestPacket);
    uint16_t in_flight = kMostInFlight;
    mosquitto_property_read_int16(properties, MQTT_PROP_RECEIVE_MAXIMUM, &in_flight, false);
    session.most_in_flight_ = static_cast<size_t>(std::clamp<int>(in_flight, 1, kMostInFlight));
  }

  static void OnSubscribe(mosquitto*, void* self, int, int count, const int* granted,
                          const mosquitto_property*) {
    MqttSession& session = Of(self);
    ++session.packets_;
    // Fewer answers than questions is a refusal, too.
    session.suback_ = count < static_cast<int>(session.setting_.subscriptions.size())
                          ? MQTT_RC_UNSPECIFIED
                          : *std::max_element(granted, granted + count);
  }

  static void OnPublish(mosquitto*, void* self, int packet_id, int reason_code,
                        const mosquitto_property*) {
    MqttSession& session = Of(self);
    ++session.packets_;
    const auto sent = session.in_flight_.find(packet_id);
    if (sent == session.in_flight_.end()) return;
    const auto& [topic, bytes] = sent->second;
    if (reason_code == MQTT_RC_SUCCESS) {
      session.mailbox_.Acknowledged(topic, bytes);
    } else {
      session.mailbox_.NotTaken(topic, bytes, reason_code,
                                PublishRefused(session.setting_, reason_code));
    }
    session.in_flight_.erase(sent);
  }

  static void OnMessage(mosquitto*, void* self, const mosquitto_message* message,
                        const mosquitto_property*) {
    MqttSession& session = Of(self);
    ++session.packets_;
    if (message->payloadlen > session.setting_.payload_bytes) {
      session.mailbox_.RefusedTooLarge(message->topic, message->payloadlen,
                                       session.setting_.payload_bytes);
      return;
    }
    session.mailbox_.Received(message->topic,
                              Payload::CopyOf({static_cast<const std::byte*>(message->payload),
                                               static_cast<size_t>(message->payloadlen)}),
                              message->retain);
  }

  static void OnDisconnect(mosquitto*, void* self, int reason_code, const mosquitto_property*) {
    Of(self).disconnect_ = reason_code;
  }

  static void OnLog(mosquitto*, void* self, int level, const char* line) {
    MqttSession& session = Of(self);
    if (level != MOSQ_LOG_ERR || session.tls_complaints_.size() > 1'000) return;
    if (!session.tls_complaints_.empty()) session.tls_complaints_ += "; ";
    session.tls_complaints_ += line;
  }
};

Status MqttSession::Prepare() {
  mosquitto_destroy(mosq_);
  mosq_ = nullptr;
  if (Status status = NewClient(setting_, this, mosq_); !status.ok()) return status;
  mosquitto_connect_v5_callback_set(mosq_, Callbacks::OnConnect);
  mosquitto_subscribe_v5_callback_set(mosq_, Callbacks::OnSubscribe);
  mosquitto_publish_v5_callback_set(mosq_, Callbacks::OnPublish);
  mosquitto_message_v5_callback_set(mosq_, Callbacks::OnMessage);
  mosquitto_disconnect_v5_callback_set(mosq_, Callbacks::OnDisconnect);
  if (tls()) mosquitto_log_callback_set(mosq_, Callbacks::OnLog);
  return Status::Ok();
}

}  // namespace weft::net
