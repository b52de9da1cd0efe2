// SPDX-License-Identifier: Apache-2.0
// Sees to it that a job has one server, also where a second one was started with another state
// folder, which no lock can tell. A server asks on the topic of the job's servers, waits a moment
// for an objection, and only then meets the workers; one that serves already objects. Of two that
// serve, after the network was in two parts, the one with the later epoch stays. A broker that
// gives every user one place, as ours does by their certificates, sends the running server away
// instead; it comes back and sends the newcomer away, which is as good as an objection, and must be
// recognised without a word: Mosquitto 2.0 just hangs up.
// Thread: the one that calls Poll.
#pragma once

#include <cstdint>
#include <string>

#include "core/clock.h"
#include "core/status.h"
#include "net/message.h"
#include "net/transport.h"

namespace weft::ps {

class JobClaim final : public net::TransportEvents {
 public:
  struct Setting {
    std::string job = {};
    int shard = 0;
    int shards = 1;
    uint64_t epoch = 1;
    uint64_t instance = 0;   // differs from start to start
    std::string place = {};  // for people: where this server runs
    bool one_place = false;  // whoever comes under our name takes our place at the broker
  };
  // Borrowed: what happens goes on to `server` from when the job is ours.
  JobClaim(const Setting& setting, net::Transport& transport, const Clock& clock,
           net::TransportEvents& server);

  // Takes the job if nobody has objected for long enough. Call it after every Poll, and when the
  // clock shows next_tick_ns().
  void Tick();
  int64_t next_tick_ns() const;

  bool held() const { return state_ == State::kHeld; }
  // Not Ok: the job is another server's, and this one must stop.
  const Status& lost() const { return lost_; }

  void Connected(const net::ConnectionLimits& limits) override;
  void Disconnected(const Status& why) override;
  void Received(const std::string& topic, net::Payload payload, bool retained) override;
  void PublishProblem(const std::string& topic, const Status& why) override;

 private:
  enum class State { kAsking, kHeld };

  void Say(uint64_t to, net::Body body);
  void Hear(const net::Message& message);
  void Lose(const std::string& to_whom);
  int64_t objection_ns() const;

  // Fixed after construction.
  const Setting setting_;
  const std::string topic_;
  net::Transport& transport_;
  const Clock& clock_;
  net::TransportEvents& server_;

  State state_ = State::kAsking;
  bool connected_ = false;
  net::ConnectionLimits limits_;
  int64_t asked_ns_ = 0;  // by this connection; 0: not yet
  int hung_up_ = 0;       // how often in a row, before we had an answer
  int64_t held_ns_ = 0;   // since when
  Status lost_;
};

}  // namespace weft::ps
