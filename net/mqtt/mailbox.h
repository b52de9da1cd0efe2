// SPDX-License-Identifier: Apache-2.0
// What passes between the thread that publishes and polls and the one that keeps the connection:
// messages one way, events the other, each within a budget of bytes. What does not fit is dropped
// and counted; nothing here waits but Poll.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/status.h"
#include "net/payload.h"
#include "net/transport.h"

namespace weft::net {

// Messages since the beginning. accepted = acknowledged + abandoned + those still on their way.
struct MqttCounts {
  int64_t attempts = 0;      // connections begun
  int64_t accepted = 0;      // taken by Publish
  int64_t acknowledged = 0;  // of these: the broker has them, which is not that anybody got them
  int64_t abandoned = 0;     // of these: on their way when the connection ended
  int64_t dropped_unconnected = 0;
  int64_t dropped_too_large = 0;
  int64_t dropped_full = 0;  // outgoing_bytes were on their way
  int64_t received = 0;
  int64_t refused_too_large = 0;
  int64_t refused_full = 0;  // incoming_bytes had not been polled
};

class Mailbox {
 public:
  static constexpr int64_t kMessageOverhead = 512;  // counted for each, so that small ones end, too
  static constexpr size_t kLongestTopic = 200;
  // What a PUBLISH adds to its payload at most: its topic and a few bytes. The library's own check
  // is off by one just below the limit, and then it aborts; it never gets to see such a message.
  static constexpr int64_t kPacketOverhead = kLongestTopic + 56;

  struct Outgoing {
    std::string topic;
    Payload payload;
  };

  // `clock` must outlive it. Aborts if the system has no descriptor left.
  Mailbox(const Clock& clock, int64_t outgoing_bytes, int64_t incoming_bytes);
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Thread: the caller's.
  void Publish(const std::string& topic, Payload payload);
  void Poll(TransportEvents& events, int64_t until_ns);

  // Thread: any.
  void Wake();
  void AskToStop();
  // The connection, if there is one, is to end for that reason, and another to take its place.
  void AskToRenew(const std::string& why);
  bool stopping() const;
  MqttCounts counts() const;
  int64_t last_alive_ns() const { return last_alive_ns_.load(std::memory_order_relaxed); }

  // Thread: the connection's, from here on.
  // A descriptor that can be read from once there is something to send, or once it is to stop.
  int bell() const { return bell_; }
  void SilenceBell();
  void Alive();
  void Attempt();
  void Connected(const ConnectionLimits& limits);
  // Drops what had not been acknowledged. Tells of it unless it was already told, in these words.
  void Disconnected(const Status& why);
  // Why the connection that stands is to end, if it is.
  std::optional<std::string> renewal() const;
  bool HasOutgoing() const;
  std::optional<Outgoing> NextOutgoing();
  void Acknowledged(const std::string& topic, int64_t payload_bytes);
  // The same, but nobody is to have it: told once for each topic and code, until one goes well.
  void NotTaken(const std::string& topic, int64_t payload_bytes, int code, const Status& why);
  void Received(const std::string& topic, Payload payload, bool retained);
  // Of `bytes`, which are too many.
  void RefusedTooLarge(const std::string& topic, int64_t bytes, int64_t most_bytes);

 private:
  struct Event {
    enum class Kind { kConnected, kDisconnected, kReceived, kProblem };
    Kind kind;
    std::string topic = {};
    Payload payload = {};
    bool retained = false;
    Status status = {};
    ConnectionLimits limits = {};
  };

  static int64_t Cost(const std::string& topic, int64_t payload_bytes);
  void Push(Event event);                                               // with mu_
  void Problem(const std::string& topic, int code, const Status& why);  // with mu_
  void RingBell();                                                      // with mu_

  const Clock& clock_;
  const int64_t outgoing_budget_;
  const int64_t incoming_budget_;
  int bell_ = -1;
  std::atomic<int64_t> last_alive_ns_;

  mutable std::mutex mu_;
  std::condition_variable happened_;
  // Guarded by mu_.
  std::deque<Event> events_;
  std::deque<Outgoing> outgoing_;
  int64_t outgoing_cost_ = 0;  // of these and of those taken but not acknowledged
  int64_t incoming_cost_ = 0;  // of events_
  bool connected_ = false;
  ConnectionLimits limits_;
  std::optional<std::string> renewal_;
  std::optional<std::string> told_;      // the last reason that Disconnected gave
  std::map<std::string, int> problems_;  // by topic, what was last told
  bool rung_ = false;
  bool woken_ = false;
  bool stopping_ = false;
  MqttCounts counts_;
};

}  // namespace weft::net
