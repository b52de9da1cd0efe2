// SPDX-License-Identifier: Apache-2.0
// A broker and its connections in one thread and in virtual time, for as many workers and servers
// as a test wants. It loses, doubles, delays, reorders and damages messages, breaks connections
// and forgets what it held, all as a seed says: the same seed gives the same run, event by event.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/rng.h"
#include "net/transport.h"

namespace weft::net {

struct LoopbackFaults {
  double lose = 0;  // share of messages
  double twice = 0;
  double damage = 0;  // one byte is another
  int64_t least_delay_ns = 1'000'000;
  int64_t most_delay_ns = 1'000'000;  // drawn for each message: they overtake each other
  size_t queue_limit = SIZE_MAX;      // messages on their way to one endpoint; more are dropped
  // Of each endpoint's way to the broker, and of its way back; 0: no message waits for another.
  int64_t bytes_per_s = 0;
};

class LoopbackNet {
 public:
  LoopbackNet(uint64_t seed, int64_t payload_limit);
  ~LoopbackNet();

  const Clock& clock() const { return clock_; }
  int64_t now_ns() const { return clock_.now; }
  void SetFaults(const LoopbackFaults& faults) { faults_ = faults; }

  // Calls `what` at a time, in the order of times and, for equal ones, of the calls of At.
  void At(int64_t ns, std::function<void()> what);
  // Does the next thing. False if there is none.
  bool Step();

  // A connection, made at once, that hears the topics for which `listens` is true. `events` and
  // the net must outlive it. Destroying it is a crash: the will is published.
  class Endpoint final : public Transport {
   public:
    ~Endpoint() override;
    void Publish(const std::string& topic, Payload payload) override;
    void Poll(TransportEvents&, int64_t) override {}  // events are called by the net's Step
    void Renew(const std::string& why) override;
    void Wake() override {}
    int64_t last_alive_ns() const override { return last_alive_ns_; }

    // What the broker says for it when its connection breaks.
    void SetWill(const std::string& topic, Payload payload) {
      wills_.emplace_back(topic, std::move(payload));
    }
    void Connect();
    // The connection is gone and the broker notices at once, or, if not `noticed`, never.
    void Disconnect(bool noticed);
    bool connected() const { return connected_; }
    // Nothing passes in either direction, and nobody notices.
    void Cut(bool cut) { cut_ = cut; }
    // The broker passes on nothing more by this connection, though it lives.
    void Deafen() { deaf_ = true; }

   private:
    friend class LoopbackNet;
    Endpoint(LoopbackNet& net, uint64_t id, std::function<bool(const std::string&)> listens,
             TransportEvents& events)
        : net_(net), id_(id), listens_(std::move(listens)), events_(events) {}

    LoopbackNet& net_;
    const uint64_t id_;
    const std::function<bool(const std::string&)> listens_;
    TransportEvents& events_;
    std::vector<std::pair<std::string, Payload>> wills_;
    bool connected_ = false;
    bool cut_ = false;
    bool deaf_ = false;
    uint64_t connection_ = 0;  // counts; what was sent to an earlier one is lost
    size_t on_the_way_ = 0;
    int64_t last_alive_ns_ = 0;
    int64_t up_free_ns_ = 0;  // with a rate: when the last message will have left it
    int64_t down_free_ns_ = 0;
  };
  std::unique_ptr<Endpoint> Join(std::function<bool(const std::string&)> listens,
                                 TransportEvents& events);

  // Everything on its way is lost, every connection breaks; they come back one by one within
  // `within_ns`.
  void RestartBroker(int64_t within_ns);
  // Nothing moves until then.
  void FreezeBroker(int64_t until_ns) { frozen_until_ = until_ns; }

  // Of everything that was delivered, when and to whom.
  uint64_t event_hash() const { return event_hash_; }
  int64_t delivered() const { return delivered_; }
  int64_t dropped() const { return dropped_; }
  // Sees every message that is published, before any fault.
  std::function<void(const std::string& topic, const Payload& payload)> tap;

 private:
  struct VirtualClock final : Clock {
    int64_t NowNs() const override { return now; }
    std::atomic<int64_t> now = 1'000'000'000;  // others than the net's thread may ask
  };
  struct Event {
    int64_t ns = 0;
    uint64_t number = 0;
    std::function<void()> what = {};
    bool operator<(const Event& other) const {  // the earliest is the top of the queue
      return ns != other.ns ? ns > other.ns : number > other.number;
    }
  };

  void Route(const std::string& topic, const Payload& payload);
  // When a message that can leave at `ns` has gone along a way that is free from `free_ns` on.
  int64_t Pass(int64_t& free_ns, int64_t ns, const Payload& payload) const;
  void Deliver(uint64_t endpoint, uint64_t connection, const std::string& topic,
               const Payload& payload);
  void Mix(uint64_t value);

  VirtualClock clock_;
  Rng rng_;
  const int64_t payload_limit_;
  LoopbackFaults faults_;
  std::priority_queue<Event> events_;
  uint64_t last_event_ = 0;
  std::map<uint64_t, Endpoint*> endpoints_;
  uint64_t last_endpoint_ = 0;
  int64_t frozen_until_ = 0;
  uint64_t event_hash_ = 0;
  int64_t delivered_ = 0;
  int64_t dropped_ = 0;
};

}  // namespace weft::net
