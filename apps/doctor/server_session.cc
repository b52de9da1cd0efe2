// SPDX-License-Identifier: Apache-2.0
#include "apps/doctor/server_session.h"

#include <fmt/format.h>

#include <optional>
#include <variant>

#include "apps/doctor/topic_checks.h"
#include "apps/job/broker_flags.h"
#include "apps/job/job_question.h"
#include "cloud_ps/broker/broker_config.h"
#include "net/codec/codec.h"
#include "net/topics.h"

namespace weft::apps {
namespace {

constexpr int64_t kObjectionNs = 600'000'000;  // a server has a little less to object

net::Payload Question(const ServerSession& session, const char* name, uint64_t instance) {
  return JobQuestion({.job = session.job,
                      .shard = static_cast<uint16_t>(session.shard),
                      .shards = static_cast<uint16_t>(session.shards),
                      .worker = name,
                      .incarnation = instance},
                     "weft-ps doctor");
}

// Where the server is that answers our question with its own claim; empty: none does.
std::string WhoObjects(TopicChecks& checks, uint64_t instance, const Clock& clock) {
  const int64_t until_ns = clock.NowNs() + kObjectionNs;
  while (const std::optional<net::BrokerProbe::Received> message = checks.Next(until_ns)) {
    const std::variant<net::Message, net::Refusal> decoded = net::Decode(message->payload.bytes());
    const auto* said = std::get_if<net::Message>(&decoded);
    if (said == nullptr || said->header.incarnation != instance) continue;
    const auto* refuse = std::get_if<net::Refuse>(&said->body);
    if (refuse != nullptr && refuse->refusal.reason == net::Reason::kAnotherServer) {
      return refuse->refusal.detail;
    }
  }
  return "";
}

}  // namespace

void CheckServerSession(Examination& exam, const BrokerWalk& walk, const ServerSession& session,
                        net::BrokerProbe* probe, const Clock& clock) {
  using net::Lane;
  constexpr const char* kNobody = "weft-doctor";  // no device should have that name
  const std::string level = net::JobLevel(session.job, session.shard, session.shards);
  const uint64_t instance = RandomNumber();
  const net::Payload question = Question(session, kNobody, instance);
  std::optional<TopicChecks> checks;
  if (probe != nullptr) checks.emplace(exam, walk, *probe, clock);
  const auto acl_line = [&](const char* right, Lane lane) {
    return fmt::format("topic {} {}", right, net::AllWorkers(level, lane));
  };
  for (const Lane lane : {Lane::kControl, Lane::kPush, Lane::kTelemetry}) {
    exam.Check(fmt::format("listen {}", net::Name(lane)), {kIdentity}, [&] {
      const std::string filter = net::AllWorkers(level, lane);
      Finding finding = checks->MaySubscribe({filter}, acl_line("read", lane));
      if (finding.state != CheckState::kOk) return finding;
      checks->Unsubscribe(filter);  // a job may be under way
      return Good("granted on " + filter + "; a device's doctor proves that it is heard");
    });
  }
  const TopicChecks::Saying to_device{net::TopicOf(level, kNobody, Lane::kPull), question};
  exam.Check("publish pull", {kIdentity}, [&] {
    std::string unheard;
    return checks->MayPublish({to_device}, acl_line("write", Lane::kPull), unheard);
  });
  exam.Check("forbidden publish", {kIdentity}, [&] {
    bool heard = false;
    return checks->MustNotPublish({net::TopicOf(level, kNobody, Lane::kControl), question}, heard);
  });
  exam.Check("forbidden listening", {kIdentity, "publish pull"},
             [&] { return checks->MustNotHear(to_device); });
  // A server asks there before it serves, and so may we: epoch 0 gives way to any other.
  exam.Check("meet servers", {kIdentity}, [&] {
    const std::string topic = net::ServersTopic(level);
    return checks->MustHear({topic, Question(session, ps::kServerUser, instance)},
                            "topic readwrite " + topic);
  });
  exam.Check("other server", {kIdentity, "meet servers"}, [&] {
    const std::string place = WhoObjects(*checks, instance, clock);
    if (place.empty()) return checks->Alone();
    return Bad(fmt::format("job '{}' already has a server, {}", session.job, place),
               "stop that one first, or give this job another name with --job");
  });
  // No name, so nobody is shut out. Whether the broker has the guard that would, it does not say.
  exam.Check("shut out", {kIdentity}, [&] {
    std::string unheard;
    Finding finding = checks->MayPublish({{net::kShutOutTopic, net::Payload()}},
                                         std::string("topic write ") + net::kShutOutTopic, unheard);
    if (!probe->connected() || finding.state != CheckState::kFails) return finding;
    return Doubtful(finding.detail + ", so nobody sends away a device that floods", finding.fix);
  });
  exam.Check("limits", {kIdentity}, [&] {
    return CheckLimits(probe->limits(), session.segment_bytes, session.window_bytes,
                       session.welcome_bytes);
  });
}

}  // namespace weft::apps
