// SPDX-License-Identifier: Apache-2.0
#include "apps/doctor/device_session.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "apps/doctor/topic_checks.h"
#include "apps/job/broker_flags.h"
#include "apps/job/job_question.h"
#include "net/codec/codec.h"
#include "net/topics.h"

namespace weft::apps {
namespace {

using net::Lane;

// Names that no device should have.
constexpr const char* kNobody = "weft-doctor";
constexpr uint64_t kSequence = 1;

class Asking {
 public:
  Asking(Examination& exam, const BrokerWalk& walk, const DeviceSession& session,
         net::BrokerProbe* probe, const Clock& clock)
      : exam_(exam), session_(session), probe_(probe), clock_(clock) {
    if (probe != nullptr) checks_.emplace(exam, walk, *probe, clock);
  }

  std::optional<net::Welcome> Run() {
    if (checks_) listening_ = checks_->MaySubscribe(Topics(Lane::kPull), AclLine(Lane::kPull));
    Publishing("publish ctl", Lane::kControl);
    Publishing("publish push", Lane::kPush);
    Publishing("publish telemetry", Lane::kTelemetry);
    exam_.Check("forbidden publish", {kIdentity}, [&] {
      bool heard = false;
      return checks_->MustNotPublish(
          {net::TopicOf(Level(0), kNobody, Lane::kControl), Question(0, kNobody)}, heard);
    });
    exam_.Check("forbidden listening", {kIdentity, "publish ctl"}, [&] {
      return checks_->MustNotHear(
          {net::TopicOf(Level(0), session_.worker, Lane::kControl), Question(0, session_.worker)});
    });
    exam_.Check("sole use", {kIdentity}, [&] { return checks_->Alone(); });
    exam_.Check("server", {kIdentity, "publish ctl"}, [&] { return Server(); });
    exam_.Check("listen pull", {kIdentity, "server"}, [&] { return Listening(); });
    exam_.Check("protocol", {"listen pull"}, [&] { return Protocol(); });
    exam_.Check("echo", {kIdentity, "listen pull", "publish push", "publish telemetry"},
                [&] { return Echo(); });
    const bool known = answers_.contains(0);
    exam_.Check("limits", {kIdentity}, [&] {
      return CheckLimits(probe_->limits(),
                         known ? static_cast<int64_t>(answers_[0].segment_bytes) : 0,
                         known ? static_cast<int64_t>(answers_[0].window_bytes) : 0, 0);
    });
    return known ? std::optional<net::Welcome>(answers_[0]) : std::nullopt;
  }

 private:
  std::string Level(int shard) const { return net::JobLevel(session_.job, shard, session_.shards); }

  // What the broker's file has for every device.
  std::string AclLine(Lane lane) const {
    return fmt::format("pattern {} {}", lane == Lane::kPull ? "read" : "write",
                       net::TopicOf(Level(0), "%u", lane));
  }

  std::vector<std::string> Topics(Lane lane) const {
    std::vector<std::string> topics;
    for (int shard = 0; shard < session_.shards; ++shard) {
      topics.push_back(net::TopicOf(Level(shard), session_.worker, lane));
    }
    return topics;
  }

  net::Payload Question(int shard, const std::string& worker) const {
    return JobQuestion({.job = session_.job,
                        .shard = static_cast<uint16_t>(shard),
                        .shards = static_cast<uint16_t>(session_.shards),
                        .worker = worker,
                        .incarnation = incarnation_},
                       "weft-edge doctor");
  }

  // Says that it is for another job, which a server answers and thinks no more of.
  net::Payload Stray(Lane lane) const {
    static constexpr std::byte kData[4] = {};
    const net::Header header{
        .job = kNobody, .worker = session_.worker, .incarnation = incarnation_};
    if (lane == Lane::kTelemetry) {
      return net::Encode({.header = header, .body = net::Telemetry{}});
    }
    return net::Encode(
        {.header = header,
         .body = net::Segment{
             .ticket = 1, .sequence = kSequence, .total = sizeof(kData), .data = kData}});
  }

  void Publishing(const char* name, Lane lane) {
    exam_.Check(name, {kIdentity}, [&] {
      std::vector<TopicChecks::Saying> sayings;
      const std::vector<std::string> topics = Topics(lane);
      for (int shard = 0; shard < session_.shards; ++shard) {
        sayings.push_back(
            {topics[static_cast<size_t>(shard)],
             lane == Lane::kControl ? Question(shard, session_.worker) : Stray(lane)});
      }
      std::string unheard;
      Finding finding = checks_->MayPublish(sayings, AclLine(lane), unheard);
      if (lane == Lane::kControl) no_server_ = unheard;
      return finding;
    });
  }

  Finding Server() const {
    if (no_server_.empty()) return Good(fmt::format("one listens for job '{}'", session_.job));
    return Bad(fmt::format("no server of job '{}' is there: nobody listens on {}", session_.job,
                           no_server_),
               fmt::format("start `weft-ps serve --job {}`, or give the right --job{}",
                           session_.job, session_.shards > 1 ? " and --shards" : ""));
  }

  // Reads what comes until `enough`.
  void Hear(const std::function<bool()>& enough) {
    const int64_t until_ns = checks_->Deadline();
    while (!enough() && clock_.NowNs() < until_ns) {
      const std::optional<net::BrokerProbe::Received> message = checks_->Next(until_ns);
      if (!message) return;
      std::variant<net::Message, net::Refusal> decoded = net::Decode(message->payload.bytes());
      const auto* said = std::get_if<net::Message>(&decoded);
      if (said == nullptr || said->header.incarnation != incarnation_) continue;
      const int shard = said->header.shard;
      if (const auto* welcome = std::get_if<net::Welcome>(&said->body)) answers_[shard] = *welcome;
      if (const auto* refuse = std::get_if<net::Refuse>(&said->body)) {
        refusals_[shard] = refuse->refusal;
      }
      if (const auto* nack = std::get_if<net::Nack>(&said->body)) {
        (nack->sequence == kSequence ? pushes_heard_ : telemetry_heard_) += 1;
        if (nack->refusal.reason == net::Reason::kQuarantined) refusals_[shard] = nack->refusal;
      }
    }
  }

  size_t Answered() const {
    size_t shards = answers_.size();
    for (const auto& [shard, refusal] : refusals_) shards += answers_.contains(shard) ? 0 : 1;
    return shards;
  }

  Finding Listening() {
    if (!listening_.fix.empty()) return listening_;
    Hear([&] { return Answered() >= static_cast<size_t>(session_.shards); });
    if (Answered() >= static_cast<size_t>(session_.shards)) {
      return Good("answers come by " + Topics(Lane::kPull).front());
    }
    return Bad(
        fmt::format("a server listens, and no answer of its came by {}",
                    Topics(Lane::kPull).front()),
        fmt::format("see that the broker's acl_file has `{}`, and `topic read {}` and `topic "
                    "write {}` for user ps",
                    AclLine(Lane::kPull), net::AllWorkers(Level(0), Lane::kControl),
                    net::AllWorkers(Level(0), Lane::kPull)));
  }

  Finding Protocol() const {
    for (const auto& [shard, refusal] : refusals_) {
      if (refusal.reason == net::Reason::kUnsupportedVersion) {
        return Bad(refusal.detail, "install weft-edge and weft-ps of one version");
      }
      return Bad("the server refuses this worker: " + refusal.detail, "look into the server's log");
    }
    return Good(fmt::format("version {}, as here", answers_.at(0).version));
  }

  // What the server sent back shows that it reads those topics.
  Finding Echo() {
    const auto all = [&](int heard) { return heard >= session_.shards; };
    Hear([&] { return all(pushes_heard_) && all(telemetry_heard_); });
    for (const auto& [heard, lane] :
         {std::pair(pushes_heard_, Lane::kPush), std::pair(telemetry_heard_, Lane::kTelemetry)}) {
      if (all(heard)) continue;
      return Bad(fmt::format("the server does not hear {}", Topics(lane).front()),
                 fmt::format("add `topic read {}` for user ps to the broker's acl_file",
                             net::AllWorkers(Level(0), lane)));
    }
    return Good("the server hears all that this device may say");
  }

  Examination& exam_;
  const DeviceSession& session_;
  net::BrokerProbe* const probe_;
  const Clock& clock_;
  const uint64_t incarnation_ = RandomNumber();
  std::optional<TopicChecks> checks_;
  Finding listening_;
  std::string no_server_;
  std::map<int, net::Welcome> answers_;   // by shard
  std::map<int, net::Refusal> refusals_;  // by shard
  int pushes_heard_ = 0;
  int telemetry_heard_ = 0;
};

}  // namespace

std::optional<net::Welcome> CheckDeviceSession(Examination& exam, const BrokerWalk& walk,
                                               const DeviceSession& session,
                                               net::BrokerProbe* probe, const Clock& clock) {
  return Asking(exam, walk, session, probe, clock).Run();
}

}  // namespace weft::apps
