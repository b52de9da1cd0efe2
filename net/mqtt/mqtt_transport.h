// SPDX-License-Identifier: Apache-2.0
// Messages over an MQTT broker: version 5, at least once (QoS 1), nothing kept by the broker from
// one connection to the next. A thread of its own keeps the connection. It tries for ever, with
// pauses that grow, at next to no cost, and tells through Disconnected what is wrong each time that
// changes: no broker, a name that is not known, the wrong certificate, not let in. Files are read
// anew at each attempt, so what is put right is noticed.
//
// The broker's acknowledgement frees memory and says nothing about the receiver. At most
// `outgoing_bytes` are on their way and `incoming_bytes` wait to be polled (counted with
// Mailbox::kMessageOverhead for each message); the library copies what it sends, so count those
// twice. What does not fit is dropped, counted, and left to the protocol to send again.
//
// libmosquitto makes the process ignore SIGPIPE. It allocates and frees each message, twice on its
// way out and twice on its way in: a program whose messages are large should let malloc keep some
// tens of megabytes (M_TRIM_THRESHOLD), or half of the time goes into faulting pages in again.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/status.h"
#include "net/mqtt/mailbox.h"
#include "net/mqtt/mqtt_setting.h"
#include "net/transport.h"

namespace weft::net {

// Thread: one, but for Wake, counts and last_alive_ns, which any may call.
class MqttTransport final : public Transport {
 public:
  // Connecting begins at once. InvalidInput for a setting that could never work; what only the
  // broker or a file can tell comes through Disconnected. `clock` must outlive it.
  static Result<std::unique_ptr<MqttTransport>> Create(const Clock& clock, MqttSetting setting);

  // Sends what was published (1 s at most) and leaves, so that the will is not published. Within
  // 2 s, whatever the broker does; if it hangs, without its having heard.
  ~MqttTransport() override;
  MqttTransport(const MqttTransport&) = delete;
  MqttTransport& operator=(const MqttTransport&) = delete;

  // A topic of at most Mailbox::kLongestTopic bytes.
  void Publish(const std::string& topic, Payload payload) override;
  void Poll(TransportEvents& events, int64_t until_ns) override;
  void Renew(const std::string& why) override;
  void Wake() override;
  // Any byte the broker sends counts: there is one at least every keepalive, if we are heard. The
  // time of creation before the first.
  int64_t last_alive_ns() const override;

  MqttCounts counts() const;

 private:
  MqttTransport(const Clock& clock, MqttSetting setting);

  // Thread: the connection's.
  void Run();
  Status Connect(class NameLookup& names);

  const Clock& clock_;
  const MqttSetting setting_;
  Mailbox mailbox_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace weft::net
