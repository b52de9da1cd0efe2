// SPDX-License-Identifier: Apache-2.0
// One connection to a broker for somebody who wants to know what it allows: each question has its
// answer, in the broker's own words, and nothing is tried twice. Unlike MqttTransport it never
// comes back by itself, so it takes no client's place more than once.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/status.h"
#include "net/mqtt/mqtt_setting.h"
#include "net/payload.h"

struct mosquitto;

namespace weft::net {

// What a broker that takes a connection says of itself.
struct BrokerLimits {
  int64_t packet_bytes = 0;  // of one packet, at most; MQTT's own limit if it names none
  int receive_maximum = 0;   // messages sent to it ahead of its answers
  int topic_aliases = 0;     // that it lets clients use
  int most_qos = 2;

  // What is left of a packet for a message on the longest of topics.
  int64_t payload_bytes() const;
};

// What the broker says to a publish or a subscription.
struct BrokerReply {
  enum class Kind {
    kGranted,
    kNobodyListens,  // granted, of a publish: there is no subscription for it
    kForbidden,
    kRefused,  // for another reason, which is in `words`
  };
  Kind kind = Kind::kGranted;
  std::string words = {};

  bool granted() const { return kind == Kind::kGranted || kind == Kind::kNobodyListens; }
};

// Why a broker does not let somebody in.
enum class DoorClosed { kNo, kNotAuthorised, kBadUser, kBadClientId, kNoVersion5, kNoRoom, kOther };

// Thread: one.
class BrokerProbe {
 public:
  // Both must outlive it. The setting's subscriptions are not made.
  BrokerProbe(const MqttSetting& setting, const Clock& clock);
  ~BrokerProbe();
  BrokerProbe(const BrokerProbe&) = delete;
  BrokerProbe& operator=(const BrokerProbe&) = delete;

  // Once. InvalidInput: the broker does not let us in; the sentence says why.
  Status Connect(int64_t until_ns);
  const BrokerLimits& limits() const { return limits_; }
  DoorClosed door_closed() const;

  // Unavailable: the connection ended, or there was no answer by the clock's `until_ns`.
  Result<BrokerReply> Publish(const std::string& topic, const Payload& payload, int64_t until_ns);
  // Messages of one's own come, too, if they may be listened to.
  Result<BrokerReply> Subscribe(const std::string& filter, int64_t until_ns);
  Status Unsubscribe(const std::string& filter, int64_t until_ns);

  struct Received {
    std::string topic;
    Payload payload;
  };
  // The oldest message not yet returned; nullopt if none came by then, or the connection ended.
  std::optional<Received> Next(int64_t until_ns);

  bool connected() const;
  // The broker ended a connection that stood: it does so without a word, or with one that says so,
  // when another client comes with our name.
  bool sent_away() const { return sent_away_; }

 private:
  struct Callbacks;

  // Sends and receives until `answer` is there.
  Status Await(const int& answer, int64_t until_ns);
  Status Turn(int64_t until_ns);
  Status Exchange(int64_t until_ns);
  Status Ended(int library_code, int error) const;

  const MqttSetting& setting_;
  const Clock& clock_;
  mosquitto* mosq_ = nullptr;
  BrokerLimits limits_;
  std::deque<Received> received_;

  // Written by the library's callbacks, inside its calls; -1: not yet.
  int64_t packets_ = 0;
  int connack_ = -1;
  int puback_ = -1;
  int suback_ = -1;
  int unsuback_ = -1;
  int disconnect_ = -1;
  bool sent_away_ = false;
  std::string tls_complaints_;
};

}  // namespace weft::net
