// SPDX-License-Identifier: Apache-2.0
#include "apps/doctor/topic_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "apps/terminal/text.h"
#include "core/clock.h"
#include "net/codec/codec.h"

namespace weft::apps {
namespace {

// A program whose place was taken is back after a tenth of a second.
constexpr int64_t kComesBackNs = 400 * kNsPerMs;
constexpr int64_t kLeastTalk = 2'048;

}  // namespace

TopicChecks::TopicChecks(Examination& exam, const BrokerWalk& walk, net::BrokerProbe& probe,
                         const Clock& clock)
    : exam_(exam), walk_(walk), probe_(probe), clock_(clock), began_ns_(clock.NowNs()) {}

int64_t TopicChecks::Deadline() const { return clock_.NowNs() + walk_.timeout_ms * kNsPerMs; }

Finding TopicChecks::Broken(const Status& status) {
  exam_.Block(kIdentity, "the connection to the broker was lost");
  if (probe_.sent_away()) {
    return Bad(fmt::format("the broker ended the connection, as it does when another client comes "
                           "as '{}': the name is in use on another machine",
                           walk_.identity),
               "give each machine a name and certificate of its own (`weft cluster add`)");
  }
  return Bad(status, "look into the broker's log");
}

Finding TopicChecks::MayPublish(const std::vector<Saying>& sayings, const std::string& acl_line,
                                std::string& unheard) {
  for (const Saying& saying : sayings) {
    const Result<net::BrokerReply> reply = probe_.Publish(saying.topic, saying.payload, Deadline());
    if (!reply.ok()) return Broken(reply.status());
    if (reply->kind == net::BrokerReply::Kind::kForbidden) {
      return Bad(
          fmt::format("the broker forbids '{}' to publish on {}", walk_.identity, saying.topic),
          "add `" + acl_line + "` to its acl_file, and make it read that again (SIGHUP)");
    }
    if (!reply->granted()) {
      return Bad(fmt::format("the broker does not take {}: {}", saying.topic, reply->words),
                 "look into the broker's log");
    }
    if (reply->kind == net::BrokerReply::Kind::kNobodyListens && unheard.empty()) {
      unheard = saying.topic;
    }
  }
  return Good(sayings.front().topic);
}

Finding TopicChecks::MaySubscribe(const std::vector<std::string>& filters,
                                  const std::string& acl_line) {
  for (const std::string& filter : filters) {
    const Result<net::BrokerReply> reply = probe_.Subscribe(filter, Deadline());
    if (!reply.ok()) return Broken(reply.status());
    if (!reply->granted()) {
      return Bad(fmt::format("the broker forbids '{}' to listen on {} ({})", walk_.identity, filter,
                             reply->words),
                 "add `" + acl_line + "` to its acl_file, and make it read that again (SIGHUP)");
    }
  }
  return Good(filters.front());
}

void TopicChecks::Unsubscribe(const std::string& filter) {
  if (Status status = probe_.Unsubscribe(filter, Deadline()); !status.ok()) Broken(status);
  while (probe_.Next(0)) {  // of a job that is under way
  }
}

Finding TopicChecks::TooWide(const std::string& detail) const {
  constexpr const char* kFix =
      "give the broker the acl_file that `weft cluster init` writes, or docs/doctor.md has";
  if (OnThisMachine(walk_.broker)) {
    return Doubtful(detail + "; well enough on one's own machine", kFix);
  }
  return Bad(detail, kFix);
}

Finding TopicChecks::MustNotPublish(const Saying& saying, bool& heard) {
  const Result<net::BrokerReply> reply = probe_.Publish(saying.topic, saying.payload, Deadline());
  if (!reply.ok()) return Broken(reply.status());
  heard = reply->kind == net::BrokerReply::Kind::kGranted;
  if (!reply->granted()) return Good("refused on " + saying.topic);
  return TooWide(fmt::format("the broker's ACL is missing: it let '{}' publish on {}",
                             walk_.identity, saying.topic));
}

Finding TopicChecks::MustNotHear(const Saying& saying) {
  Result<net::BrokerReply> reply = probe_.Subscribe(saying.topic, Deadline());
  if (!reply.ok()) return Broken(reply.status());
  if (!reply->granted()) return Good("refused on " + saying.topic);
  reply = probe_.Publish(saying.topic, saying.payload, Deadline());
  if (!reply.ok()) return Broken(reply.status());
  // What comes after the answer to this does not come at all.
  if (Status status = probe_.Unsubscribe(saying.topic, Deadline()); !status.ok()) {
    return Broken(status);
  }
  bool echo = false;
  while (std::optional<net::BrokerProbe::Received> message = probe_.Next(0)) {
    if (message->topic == saying.topic) {
      echo = true;
    } else {
      set_aside_.push_back(std::move(*message));
    }
  }
  if (!echo) return Good("nothing heard on " + saying.topic);
  return TooWide(fmt::format("the broker's ACL is missing: it let '{}' listen on {}",
                             walk_.identity, saying.topic));
}

Finding TopicChecks::MustHear(const Saying& saying, const std::string& acl_line) {
  Finding finding = MaySubscribe({saying.topic}, acl_line);
  if (finding.state != CheckState::kOk) return finding;
  std::string unheard;
  finding = MayPublish({saying}, acl_line, unheard);
  if (finding.state != CheckState::kOk) return finding;
  const int64_t until_ns = Deadline();
  while (std::optional<net::BrokerProbe::Received> message = probe_.Next(until_ns)) {
    const bool own = message->topic == saying.topic &&
                     std::ranges::equal(message->payload.bytes(), saying.payload.bytes());
    if (own) return Good(saying.topic);
    set_aside_.push_back(std::move(*message));
  }
  if (!probe_.connected()) return Broken(Status::Unavailable("the broker closed the connection"));
  return Bad(
      fmt::format("what '{}' publishes on {} does not come back to it", walk_.identity,
                  saying.topic),
      "add `" + acl_line + "` to the broker's acl_file, and make it read that again (SIGHUP)");
}

std::optional<net::BrokerProbe::Received> TopicChecks::Next(int64_t until_ns) {
  if (set_aside_.empty()) return probe_.Next(until_ns);
  net::BrokerProbe::Received first = std::move(set_aside_.front());
  set_aside_.erase(set_aside_.begin());
  return first;
}

Finding TopicChecks::Alone() {
  while (probe_.connected() && clock_.NowNs() < began_ns_ + kComesBackNs) {
    if (std::optional<net::BrokerProbe::Received> message = probe_.Next(began_ns_ + kComesBackNs)) {
      set_aside_.push_back(std::move(*message));
    }
  }
  if (!probe_.connected()) return Broken({});
  return Good(fmt::format("nobody else came as '{}'", walk_.identity));
}

Finding CheckLimits(const net::BrokerLimits& limits, int64_t segment_bytes, int64_t window_bytes,
                    int64_t talk_bytes) {
  const std::string detail =
      fmt::format("packets up to {}, {} at a time", BytesText(limits.packet_bytes),
                  CountText(limits.receive_maximum));
  const int64_t around = limits.packet_bytes - limits.payload_bytes();
  const int64_t needed = std::max(talk_bytes, kLeastTalk) + around;
  const auto raise = [](int64_t bytes) {
    return fmt::format("set `max_packet_size {}` or more in the broker's file", bytes);
  };
  const int64_t whole = segment_bytes + net::kEnvelopeBytes + around;
  if (limits.packet_bytes < needed) {
    return Bad(fmt::format("{}, and messages of {} must go through", detail, BytesText(needed)),
               raise(std::max(needed, whole)));
  }
  if (segment_bytes > 0 && limits.packet_bytes < whole) {
    return Doubtful(fmt::format("{}, so that segments of {} go in pieces, more slowly", detail,
                                BytesText(segment_bytes)),
                    raise(whole));
  }
  if (segment_bytes > 0 && limits.receive_maximum * segment_bytes < window_bytes / 8) {
    return Doubtful(
        fmt::format("{}, which holds up a window of {}", detail, BytesText(window_bytes)),
        "raise `max_inflight_messages` in the broker's file");
  }
  return Good(detail);
}

}  // namespace weft::apps
