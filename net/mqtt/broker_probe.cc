// SPDX-License-Identifier: Apache-2.0
#include "net/mqtt/broker_probe.h"

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "core/clock.h"
#include "net/mqtt/mailbox.h"
#include "net/mqtt/mqtt_client.h"
#include "net/mqtt/mqtt_reasons.h"
#include "net/mqtt/tcp_probe.h"

namespace weft::net {

namespace {

BrokerReply ReplyOf(int reason_code) {
  using Kind = BrokerReply::Kind;
  if (reason_code == MQTT_RC_NO_MATCHING_SUBSCRIBERS) return {.kind = Kind::kNobodyListens};
  if (reason_code < MQTT_RC_UNSPECIFIED) return {.kind = Kind::kGranted};
  return {.kind = reason_code == MQTT_RC_NOT_AUTHORIZED ? Kind::kForbidden : Kind::kRefused,
          .words = mosquitto_reason_string(reason_code)};
}

}  // namespace

int64_t BrokerLimits::payload_bytes() const { return packet_bytes - Mailbox::kPacketOverhead; }

// Inside these nothing is done but to note what there is.
struct BrokerProbe::Callbacks {
  static BrokerProbe& Of(void* probe) { return *static_cast<BrokerProbe*>(probe); }

  static void OnConnect(mosquitto*, void* self, int reason_code, int,
                        const mosquitto_property* properties) {
    BrokerProbe& probe = Of(self);
    ++probe.packets_;
    probe.connack_ = reason_code;
    uint32_t packet = kLargestPacket;
    mosquitto_property_read_int32(properties, MQTT_PROP_MAXIMUM_PACKET_SIZE, &packet, false);
    uint16_t in_flight = UINT16_MAX;
    mosquitto_property_read_int16(properties, MQTT_PROP_RECEIVE_MAXIMUM, &in_flight, false);
    uint16_t aliases = 0;
    mosquitto_property_read_int16(properties, MQTT_PROP_TOPIC_ALIAS_MAXIMUM, &aliases, false);
    uint8_t qos = 2;
    mosquitto_property_read_byte(properties, MQTT_PROP_MAXIMUM_QOS, &qos, false);
    probe.limits_ = {.packet_bytes = std::min<int64_t>(packet, kLargestPacket),
                     .receive_maximum = in_flight,
                     .topic_aliases = aliases,
                     .most_qos = qos};
  }

  static void OnPublish(mosquitto*, void* self, int, int reason_code, const mosquitto_property*) {
    ++Of(self).packets_;
    Of(self).puback_ = reason_code;
  }

  static void OnSubscribe(mosquitto*, void* self, int, int count, const int* granted,
                          const mosquitto_property*) {
    ++Of(self).packets_;
    Of(self).suback_ = count == 1 ? granted[0] : MQTT_RC_UNSPECIFIED;
  }

  static void OnUnsubscribe(mosquitto*, void* self, int, const mosquitto_property*) {
    ++Of(self).packets_;
    Of(self).unsuback_ = MQTT_RC_SUCCESS;
  }

  static void OnMessage(mosquitto*, void* self, const mosquitto_message* message,
                        const mosquitto_property*) {
    BrokerProbe& probe = Of(self);
    ++probe.packets_;
    if (message->payloadlen > probe.setting_.payload_bytes || message->retain) return;
    probe.received_.push_back(
        {message->topic, Payload::CopyOf({static_cast<const std::byte*>(message->payload),
                                          static_cast<size_t>(message->payloadlen)})});
  }

  static void OnDisconnect(mosquitto*, void* self, int reason_code, const mosquitto_property*) {
    Of(self).disconnect_ = reason_code;
  }

  static void OnLog(mosquitto*, void* self, int level, const char* line) {
    if (level == MOSQ_LOG_ERR) Of(self).tls_complaints_ += std::string(line) + "; ";
  }
};

BrokerProbe::BrokerProbe(const MqttSetting& setting, const Clock& clock)
    : setting_(setting), clock_(clock) {}

BrokerProbe::~BrokerProbe() {
  if (connected() && connack_ == MQTT_RC_SUCCESS) {
    // So that nobody believes us dead; one write is enough for four bytes.
    mosquitto_disconnect_v5(mosq_, MQTT_RC_NORMAL_DISCONNECTION, nullptr);
    mosquitto_loop_write(mosq_, 1);
  }
  mosquitto_destroy(mosq_);
}

bool BrokerProbe::connected() const {
  return mosq_ != nullptr && mosquitto_socket(mosq_) >= 0 && !sent_away_;
}

DoorClosed BrokerProbe::door_closed() const {
  switch (connack_) {
    case -1:
    case MQTT_RC_SUCCESS:
      return DoorClosed::kNo;
    case MQTT_RC_NOT_AUTHORIZED:
      return DoorClosed::kNotAuthorised;
    case MQTT_RC_BAD_USERNAME_OR_PASSWORD:
      return DoorClosed::kBadUser;
    case MQTT_RC_CLIENTID_NOT_VALID:
      return DoorClosed::kBadClientId;
    case MQTT_RC_UNSUPPORTED_PROTOCOL_VERSION:
    case CONNACK_REFUSED_PROTOCOL_VERSION:
      return DoorClosed::kNoVersion5;
    case MQTT_RC_SERVER_UNAVAILABLE:
    case MQTT_RC_SERVER_BUSY:
    case MQTT_RC_QUOTA_EXCEEDED:
    case MQTT_RC_CONNECTION_RATE_EXCEEDED:
      return DoorClosed::kNoRoom;
    default:
      return DoorClosed::kOther;
  }
}

Status BrokerProbe::Ended(int library_code, int error) const {
  if (connack_ > 0) return ConnectRefused(setting_, connack_);
  if (disconnect_ > 0) return SentAway(setting_, disconnect_);
  if (connack_ < 0 && !tls_complaints_.empty()) return TlsFailure(setting_, tls_complaints_);
  if (connack_ < 0) return ClosedAtOnce(setting_);
  if (library_code == MOSQ_ERR_SUCCESS) library_code = MOSQ_ERR_CONN_LOST;
  return LibraryFailure(setting_, library_code, error);
}

Status BrokerProbe::Connect(int64_t until_ns) {
  if (Status status = NewClient(setting_, this, mosq_); !status.ok()) return status;
  mosquitto_connect_v5_callback_set(mosq_, Callbacks::OnConnect);
  mosquitto_publish_v5_callback_set(mosq_, Callbacks::OnPublish);
  mosquitto_subscribe_v5_callback_set(mosq_, Callbacks::OnSubscribe);
  mosquitto_unsubscribe_v5_callback_set(mosq_, Callbacks::OnUnsubscribe);
  mosquitto_message_v5_callback_set(mosq_, Callbacks::OnMessage);
  mosquitto_disconnect_v5_callback_set(mosq_, Callbacks::OnDisconnect);
  mosquitto_log_callback_set(mosq_, Callbacks::OnLog);
  // A certificate is for a name, so the library gets the name, and looks it up.
  const int rc = mosquitto_connect_bind_async(mosq_, setting_.host.c_str(), setting_.port,
                                              setting_.keepalive_s, nullptr);
  if (rc != MOSQ_ERR_SUCCESS) return LibraryFailure(setting_, rc, errno);
  if (const int error = AwaitTcp(mosquitto_socket(mosq_), clock_, until_ns, /*bell=*/-1);
      error != 0) {
    return SocketFailure(setting_, error);
  }
  // With TLS, the first try was before there was a connection.
  if (!setting_.ca_file.empty()) {
    const int read = mosquitto_loop_read(mosq_, 1);
    if (read != MOSQ_ERR_SUCCESS) return Ended(read, errno);
  }
  if (Status status = Await(connack_, until_ns); !status.ok()) return status;
  return connack_ == MQTT_RC_SUCCESS ? Status::Ok() : ConnectRefused(setting_, connack_);
}

Status BrokerProbe::Await(const int& answer, int64_t until_ns) {
  while (answer < 0) {
    if (!connected()) return Ended(MOSQ_ERR_NO_CONN, 0);
    if (Status status = Turn(until_ns); !status.ok()) return status;
    if (answer < 0 && clock_.NowNs() >= until_ns) {
      return Status::Unavailable("the broker at " + BrokerName(setting_) +
                                 " took the connection but does not answer");
    }
  }
  return Status::Ok();
}

Status BrokerProbe::Turn(int64_t until_ns) {
  const Status status = Exchange(until_ns);
  if (!status.ok() && connack_ == MQTT_RC_SUCCESS) sent_away_ = true;
  return status;
}

Status BrokerProbe::Exchange(int64_t until_ns) {
  const int64_t left_ns = std::clamp<int64_t>(until_ns - clock_.NowNs(), 0, 1'000 * kNsPerMs);
  pollfd waiting{.fd = mosquitto_socket(mosq_), .events = POLLIN, .revents = 0};
  if (mosquitto_want_write(mosq_)) waiting.events |= POLLOUT;
  if (poll(&waiting, 1, static_cast<int>((left_ns + kNsPerMs - 1) / kNsPerMs)) < 0 &&
      errno != EINTR) {
    return SocketFailure(setting_, errno);
  }
  if (waiting.revents != 0) {
    // The library does not notice everywhere that a connection has ended.
    char first = 0;
    if (recv(waiting.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
      return Ended(MOSQ_ERR_CONN_LOST, 0);
    }
    // While TLS is being set up, reading is what takes it forward. Later, it may stop with packets
    // left in TLS's buffer, for which no socket will call.
    for (int64_t before = -1; before != packets_;) {
      before = packets_;
      const int rc = mosquitto_loop_read(mosq_, 1);
      if (rc != MOSQ_ERR_SUCCESS || !connected()) return Ended(rc, errno);
    }
    const int rc = mosquitto_loop_write(mosq_, 1);
    if (rc != MOSQ_ERR_SUCCESS || !connected()) return Ended(rc, errno);
  }
  const int rc = mosquitto_loop_misc(mosq_);
  return rc == MOSQ_ERR_SUCCESS ? Status::Ok() : Ended(rc, errno);
}

Result<BrokerReply> BrokerProbe::Publish(const std::string& topic, const Payload& payload,
                                         int64_t until_ns) {
  if (!connected()) return Ended(MOSQ_ERR_NO_CONN, 0);
  if (static_cast<int64_t>(payload.size()) > limits_.payload_bytes()) {
    return BrokerReply{
        .kind = BrokerReply::Kind::kRefused,
        .words = "the broker takes no messages of " + std::to_string(payload.size()) + " bytes"};
  }
  puback_ = -1;
  const int rc = mosquitto_publish_v5(mosq_, nullptr, topic.c_str(),
                                      static_cast<int>(payload.size()), payload.bytes().data(),
                                      /*qos=*/1, /*retain=*/false, nullptr);
  if (rc != MOSQ_ERR_SUCCESS) return Ended(rc, errno);
  if (Status status = Await(puback_, until_ns); !status.ok()) return status;
  return ReplyOf(puback_);
}

Result<BrokerReply> BrokerProbe::Subscribe(const std::string& filter, int64_t until_ns) {
  if (!connected()) return Ended(MOSQ_ERR_NO_CONN, 0);
  suback_ = -1;
  const int rc = mosquitto_subscribe_v5(mosq_, nullptr, filter.c_str(), /*qos=*/1,
                                        MQTT_SUB_OPT_SEND_RETAIN_NEVER, nullptr);
  if (rc != MOSQ_ERR_SUCCESS) return Ended(rc, errno);
  if (Status status = Await(suback_, until_ns); !status.ok()) return status;
  return ReplyOf(suback_);
}

Status BrokerProbe::Unsubscribe(const std::string& filter, int64_t until_ns) {
  if (!connected()) return Ended(MOSQ_ERR_NO_CONN, 0);
  unsuback_ = -1;
  const int rc = mosquitto_unsubscribe(mosq_, nullptr, filter.c_str());
  if (rc != MOSQ_ERR_SUCCESS) return Ended(rc, errno);
  return Await(unsuback_, until_ns);
}

std::optional<BrokerProbe::Received> BrokerProbe::Next(int64_t until_ns) {
  while (received_.empty() && connected() && clock_.NowNs() < until_ns) {
    if (!Turn(until_ns).ok()) break;
  }
  if (received_.empty()) return std::nullopt;
  Received first = std::move(received_.front());
  received_.pop_front();
  return first;
}

}  // namespace weft::net
