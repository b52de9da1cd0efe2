// SPDX-License-Identifier: Apache-2.0
#include "cloud_ps/job_claim.h"

#include <limits>
#include <tuple>
#include <variant>

#include "core/clock.h"
#include "net/codec/codec.h"
#include "net/topics.h"

namespace weft::ps {
namespace {

// A server that runs has so long to object: twice through the broker, and it may be summing.
constexpr int64_t kObjectionNs = 500 * kNsPerMs;
// And so long where it must connect again to be heard, with TLS, and be it the second time.
constexpr int64_t kReturnNs = 2'000 * kNsPerMs;
// A connection may break once by chance, just when we ask.
constexpr int kHungUpByADouble = 2;
// One that is sent away by its double so soon after it began is the newcomer.
constexpr int64_t kNewcomerNs = 10'000 * kNsPerMs;
// Messages carry a worker's name; this one is between servers.
constexpr const char* kServerName = "ps";

}  // namespace

JobClaim::JobClaim(const Setting& setting, net::Transport& transport, const Clock& clock,
                   net::TransportEvents& server)
    : setting_(setting),
      topic_(net::ServersTopic(net::JobLevel(setting.job, setting.shard, setting.shards))),
      transport_(transport),
      clock_(clock),
      server_(server) {}

int64_t JobClaim::objection_ns() const { return setting_.one_place ? kReturnNs : kObjectionNs; }

void JobClaim::Tick() {
  if (state_ == State::kHeld || !lost_.ok() || asked_ns_ == 0) return;
  if (clock_.NowNs() < asked_ns_ + objection_ns()) return;
  state_ = State::kHeld;
  held_ns_ = clock_.NowNs();
  Say(setting_.instance, net::Heartbeat{});
  server_.Connected(limits_);
}

int64_t JobClaim::next_tick_ns() const {
  if (state_ == State::kHeld || asked_ns_ == 0) return std::numeric_limits<int64_t>::max();
  return asked_ns_ + objection_ns();
}

void JobClaim::Connected(const net::ConnectionLimits& limits) {
  connected_ = true;
  limits_ = limits;
  if (held()) {
    Say(setting_.instance, net::Heartbeat{});
    server_.Connected(limits);
  } else {
    asked_ns_ = clock_.NowNs();
    Say(setting_.instance, net::Hello{.batch = 1, .software = setting_.place});
  }
}

void JobClaim::Disconnected(const Status& why) {
  const bool newcomer = !held() || clock_.NowNs() - held_ns_ < kNewcomerNs;
  if (connected_ && newcomer && why.code() == StatusCode::kTaken) Lose("under the same name");
  if (connected_ && !held() && setting_.one_place && ++hung_up_ == kHungUpByADouble) {
    Lose("under the same name (the broker hangs up on us whenever we come: " + why.message() + ")");
  }
  connected_ = false;
  asked_ns_ = 0;
  server_.Disconnected(why);
}

void JobClaim::Received(const std::string& topic, net::Payload payload, bool retained) {
  if (topic != topic_) {
    if (held()) server_.Received(topic, std::move(payload), retained);
    return;
  }
  if (retained) return;
  const std::variant<net::Message, net::Refusal> decoded = net::Decode(payload.bytes());
  if (const auto* message = std::get_if<net::Message>(&decoded)) Hear(*message);
}

void JobClaim::PublishProblem(const std::string& topic, const Status& why) {
  if (topic == topic_ && why.code() == StatusCode::kInvalidInput) {
    lost_ = why.WithContext(topic + ", where a job's servers meet");
  }
  server_.PublishProblem(topic, why);
}

void JobClaim::Hear(const net::Message& message) {
  const net::Header& theirs = message.header;
  const bool asks = std::holds_alternative<net::Hello>(message.body);
  const bool serves = std::holds_alternative<net::Heartbeat>(message.body);
  if (theirs.incarnation == setting_.instance) {
    const auto* refuse = std::get_if<net::Refuse>(&message.body);
    if (refuse != nullptr && refuse->refusal.reason == net::Reason::kAnotherServer) {
      Lose(refuse->refusal.detail);
    }
    return;
  }
  if (!asks && !serves) return;
  const auto their_rank = std::tuple(serves, theirs.epoch, theirs.incarnation);
  const auto our_rank = std::tuple(held(), setting_.epoch, setting_.instance);
  if (our_rank > their_rank) {
    Say(theirs.incarnation,
        net::Refuse{{.reason = net::Reason::kAnotherServer, .detail = setting_.place}});
  } else if (const auto* hello = std::get_if<net::Hello>(&message.body)) {
    Lose(hello->software);  // it may have come too late to hear our question
  }
}

void JobClaim::Say(uint64_t to, net::Body body) {
  transport_.Publish(topic_,
                     net::Encode({.header = {.job = setting_.job,
                                             .shard = static_cast<uint16_t>(setting_.shard),
                                             .shards = static_cast<uint16_t>(setting_.shards),
                                             .epoch = setting_.epoch,
                                             .worker = kServerName,
                                             .incarnation = to},
                                  .body = std::move(body)}));
}

void JobClaim::Lose(const std::string& to_whom) {
  lost_ = Status::Taken("ANOTHER_SERVER: job '" + setting_.job + "' already has a server, " +
                        to_whom + "; stop that one first, or give this job another name");
}

}  // namespace weft::ps
