// SPDX-License-Identifier: Apache-2.0
// One connection to the broker, from the first packet to the last. The library's object lives as
// long as this one, so nothing of an old connection is ever sent again on a new one. The library is
// used without its threads and its select(): here is where one waits for the socket.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "core/clock.h"
#include "core/status.h"
#include "net/mqtt/mailbox.h"
#include "net/mqtt/mqtt_setting.h"

struct mosquitto;
struct mosquitto_message;
struct mqtt5__property;

namespace weft::net {

// Thread: the connection's.
class MqttSession {
 public:
  // All three must outlive it.
  MqttSession(const MqttSetting& setting, const Clock& clock, Mailbox& mailbox);
  ~MqttSession();
  MqttSession(const MqttSession&) = delete;
  MqttSession& operator=(const MqttSession&) = delete;

  // Connects to `address`, which is the setting's host or one of its numbers, and subscribes.
  // Fails with why not, also by the clock's `until_ns`, and when the mailbox is to stop. `reached`
  // tells whether there was a broker to speak to, so that no other address need be tried.
  Status Open(const std::string& address, int64_t until_ns, bool& reached);
  const ConnectionLimits& limits() const { return limits_; }

  // Sends and receives until the connection ends, and says why it did; Ok when the mailbox is to
  // stop.
  Status Serve();

  // Sends what is in the mailbox and waits for its acknowledgement until `flush_until_ns`; leaves
  // in good order until `until_ns`, or else without.
  void Close(int64_t flush_until_ns, int64_t until_ns);

 private:
  struct Sent {
    std::string topic;
    int64_t bytes;
  };
  struct Callbacks;

  bool tls() const { return !setting_.ca_file.empty(); }
  Status Prepare();
  Status Subscribe();
  // Waits for the socket or for the mailbox's bell, and does what they ask for.
  Status Turn(int64_t until_ns);
  Status Read();
  Status SendSome();
  int PollTimeout(int64_t until_ns) const;  // ms
  Status Explain(int library_code, int error) const;

  const MqttSetting& setting_;
  const Clock& clock_;
  Mailbox& mailbox_;

  mosquitto* mosq_ = nullptr;
  ConnectionLimits limits_;
  size_t most_in_flight_ = 1;
  std::unordered_map<int, Sent> in_flight_;  // by packet id, until the PUBACK
  bool read_again_ = false;                  // the library may hold bytes that the socket does not

  // Written by the library's callbacks, inside its calls.
  int64_t packets_ = 0;
  int connack_ = -1;  // its reason code, once there is one
  int64_t most_packet_bytes_ = 0;
  int suback_ = -1;      // the worst of its reason codes
  int disconnect_ = -1;  // the broker's reason code
  std::string tls_complaints_;
};

}  // namespace weft::net
