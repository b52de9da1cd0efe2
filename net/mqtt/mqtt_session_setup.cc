// SPDX-License-Identifier: Apache-2.0
// How a connection is set up with the library: its options, and its callbacks.
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "net/mqtt/mqtt_reasons.h"
#include "net/mqtt/mqtt_session.h"

namespace weft::net {

namespace {

constexpr int64_t kLargestPacket = 268'435'455;  // MQTT has no larger ones
// Packet ids are 16 bits, and the library does not check that one is free.
constexpr int64_t kMostInFlight = 1'000;

void PrepareLibrary() {
  static std::once_flag once;
  std::call_once(once, [] { mosquitto_lib_init(); });
}

bool CanRead(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

// A key under a password is refused; otherwise the TLS library would ask for it at the terminal.
int NoPassword(char*, int, int, void*) { return 0; }

}  // namespace

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
    session.most_in_flight_ = static_cast<size_t>(std::clamp<int64_t>(in_flight, 1, kMostInFlight));
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
  PrepareLibrary();
  mosquitto_destroy(mosq_);
  mosq_ = mosquitto_new(setting_.client_id.c_str(), /*clean_start=*/true, this);
  if (mosq_ == nullptr) {
    return Status::Unavailable("there is no memory or no descriptor left for a connection");
  }
  mosquitto_int_option(mosq_, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
  mosquitto_int_option(mosq_, MOSQ_OPT_TCP_NODELAY, 1);
  mosquitto_int_option(mosq_, MOSQ_OPT_RECEIVE_MAXIMUM, setting_.receive_maximum);
  mosquitto_int_option(mosq_, MOSQ_OPT_SEND_MAXIMUM, kMostInFlight);
  mosquitto_connect_v5_callback_set(mosq_, Callbacks::OnConnect);
  mosquitto_subscribe_v5_callback_set(mosq_, Callbacks::OnSubscribe);
  mosquitto_publish_v5_callback_set(mosq_, Callbacks::OnPublish);
  mosquitto_message_v5_callback_set(mosq_, Callbacks::OnMessage);
  mosquitto_disconnect_v5_callback_set(mosq_, Callbacks::OnDisconnect);
  if (!setting_.username.empty()) {
    mosquitto_username_pw_set(mosq_, setting_.username.c_str(), nullptr);
  }
  if (!setting_.will_topic.empty()) {
    mosquitto_will_set_v5(
        mosq_, setting_.will_topic.c_str(), static_cast<int>(setting_.will_payload.size()),
        setting_.will_payload.bytes().data(), /*qos=*/1, /*retain=*/false, nullptr);
  }
  if (!tls()) return Status::Ok();

  mosquitto_log_callback_set(mosq_, Callbacks::OnLog);
  for (const std::string& file : {setting_.ca_file, setting_.certificate_file, setting_.key_file}) {
    if (!file.empty() && !CanRead(file)) return Status::NotFound(file + " cannot be read");
  }
  const bool with_certificate = !setting_.certificate_file.empty();
  const int rc =
      mosquitto_tls_set(mosq_, setting_.ca_file.c_str(), nullptr,
                        with_certificate ? setting_.certificate_file.c_str() : nullptr,
                        with_certificate ? setting_.key_file.c_str() : nullptr, NoPassword);
  if (rc != MOSQ_ERR_SUCCESS) return Explain(rc, errno);
  mosquitto_tls_opts_set(mosq_, /*verify=*/1, "tlsv1.2", nullptr);  // or later
  return Status::Ok();
}

}  // namespace weft::net
