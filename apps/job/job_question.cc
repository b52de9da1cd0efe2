// SPDX-License-Identifier: Apache-2.0
#include "apps/job/job_question.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "core/clock.h"
#include "net/codec/codec.h"
#include "net/deaf_patience.h"
#include "net/topics.h"

namespace weft::apps {
namespace {

class Question final : public net::TransportEvents {
 public:
  Question(const net::WorkerSession::Setting& worker, const Logger& log)
      : worker_(worker), log_(log) {}

  std::optional<net::Welcome> answer;
  Status refusal;
  bool anew = false;  // the connection
  bool connected = false;
  net::ConnectionLimits limits;

  void Connected(const net::ConnectionLimits& now) override {
    connected = true;
    anew = true;
    limits = now;
  }
  void Disconnected(const Status& why) override {
    connected = false;
    log_.Warning(why.message() + "; trying again");
  }
  void PublishProblem(const std::string&, const Status& why) override {
    if (why.message() == told_) return;
    told_ = why.message();
    log_.Warning(told_);
  }
  void Received(const std::string& topic, net::Payload payload, bool retained) override {
    if (retained || topic != Topic(net::Lane::kPull)) return;
    std::variant<net::Message, net::Refusal> decoded = net::Decode(payload.bytes());
    auto* message = std::get_if<net::Message>(&decoded);
    if (message == nullptr || message->header.incarnation != worker_.incarnation) return;
    if (auto* welcome = std::get_if<net::Welcome>(&message->body)) answer = std::move(*welcome);
    if (const auto* refuse = std::get_if<net::Refuse>(&message->body)) {
      refusal = net::Refused("this worker", refuse->refusal);
    }
  }

  std::string Topic(net::Lane lane) const {
    return net::TopicOf(net::JobLevel(worker_.job, 0, worker_.shards), worker_.worker, lane);
  }

 private:
  const net::WorkerSession::Setting& worker_;
  const Logger& log_;
  std::string told_;
};

}  // namespace

net::Payload JobQuestion(const net::Header& from, const std::string& software) {
  return net::Encode({.header = from, .body = net::Hello{.batch = 1, .software = software}});
}

Result<JobAnswer> AskForJob(const net::WorkerSession::Setting& worker, net::Transport& transport,
                            const Clock& clock, const Logger& log, ServiceManager& manager,
                            const std::atomic<bool>& stop) {
  Question question(worker, log);
  net::DeafPatience deaf;
  int64_t next_ask_ns = 0;
  int64_t pause_ns = kNsPerSecond / 5;
  const int64_t begin_ns = clock.NowNs();
  bool told = false;
  while (!stop && !question.answer && question.refusal.ok()) {
    const int64_t now = clock.NowNs();
    if (std::exchange(question.anew, false)) deaf.Connected(now);
    if (question.connected && deaf.Exhausted(now)) {
      transport.Renew("no server has been heard for " + deaf.Text());
    }
    if (question.connected && now >= next_ask_ns) {
      const net::Header header{.job = worker.job,
                               .shards = static_cast<uint16_t>(worker.shards),
                               .worker = worker.worker,
                               .incarnation = worker.incarnation};
      transport.Publish(question.Topic(net::Lane::kControl), JobQuestion(header, worker.software));
      next_ask_ns = now + pause_ns;
      pause_ns = std::min(2 * pause_ns, 2 * kNsPerSecond);
      if (!told && now - begin_ns > 5 * kNsPerSecond) {
        told = true;
        log.Warning("no server of job '" + worker.job + "' has answered yet on " +
                    question.Topic(net::Lane::kPull) +
                    "; is it running, and may this worker use its topics?");
      }
    }
    transport.Poll(question, now + kNsPerSecond / 10);
    manager.Alive();
  }
  if (question.answer) return JobAnswer{std::move(*question.answer), question.limits};
  if (!question.refusal.ok()) return question.refusal;
  return Status::Unavailable("stopped before a server had answered");
}

}  // namespace weft::apps
