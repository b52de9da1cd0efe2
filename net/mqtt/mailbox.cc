// SPDX-License-Identifier: Apache-2.0
#include "net/mqtt/mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace weft::net {

namespace {

constexpr size_t kMostProblems = 256;  // topics remembered, so that strange ones cost no memory
constexpr int kLocalProblem = -1;      // the broker's own codes are from 0 to 255
constexpr int kInboundProblem = -2;
constexpr int64_t kLongestWaitNs = 3'600'000'000'000;

}  // namespace

Mailbox::Mailbox(const Clock& clock, int64_t outgoing_bytes, int64_t incoming_bytes)
    : clock_(clock),
      outgoing_budget_(outgoing_bytes),
      incoming_budget_(incoming_bytes),
      bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      last_alive_ns_(clock.NowNs()) {
  if (bell_ < 0) std::abort();
}

Mailbox::~Mailbox() { close(bell_); }

int64_t Mailbox::Cost(const std::string& topic, int64_t payload_bytes) {
  assert(topic.size() <= 65'535);  // MQTT has no longer ones
  return payload_bytes +
         std::max(kMessageOverhead, static_cast<int64_t>(topic.size()) + kMessageOverhead / 2);
}

void Mailbox::Push(Event event) {
  events_.push_back(std::move(event));
  happened_.notify_one();
}

void Mailbox::Problem(const std::string& topic, int code, const Status& why) {
  const auto known = problems_.find(topic);
  if (known == problems_.end()) {
    if (problems_.size() >= kMostProblems) return;
    problems_.emplace(topic, code);
  } else {
    if (std::exchange(known->second, code) == code) return;
  }
  Push({.kind = Event::Kind::kProblem, .topic = topic, .status = why});
}

void Mailbox::RingBell() {
  if (std::exchange(rung_, true)) return;
  const uint64_t one = 1;
  // It can only fail when the counter is full, and then the bell is ringing.
  [[maybe_unused]] const ssize_t written = write(bell_, &one, sizeof(one));
}

void Mailbox::SilenceBell() {
  const std::lock_guard lock(mu_);
  rung_ = false;
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t taken = read(bell_, &count, sizeof(count));
}

void Mailbox::Publish(const std::string& topic, Payload payload) {
  const auto bytes = static_cast<int64_t>(payload.size());
  const std::lock_guard lock(mu_);
  if (!connected_) {
    ++counts_.dropped_unconnected;
  } else if (bytes > limits_.payload_bytes || topic.size() > kLongestTopic) {
    ++counts_.dropped_too_large;
    Problem(topic, kLocalProblem,
            Status::InvalidInput("a message of " + std::to_string(bytes) +
                                 " bytes was not sent: this connection takes " +
                                 std::to_string(limits_.payload_bytes) + " at most"));
  } else if (outgoing_cost_ + Cost(topic, bytes) > outgoing_budget_) {
    ++counts_.dropped_full;
  } else {
    ++counts_.accepted;
    outgoing_cost_ += Cost(topic, bytes);
    outgoing_.push_back({topic, std::move(payload)});
    RingBell();
  }
}

void Mailbox::Poll(TransportEvents& events, int64_t until_ns) {
  std::deque<Event> happened;
  {
    std::unique_lock lock(mu_);
    while (events_.empty() && !woken_) {
      const int64_t now_ns = clock_.NowNs();
      if (now_ns >= until_ns) break;
      // Never far enough ahead to overflow.
      const int64_t most_ns =
          until_ns > now_ns + kLongestWaitNs ? kLongestWaitNs : until_ns - now_ns;
      happened_.wait_for(lock, std::chrono::nanoseconds(most_ns));
    }
    woken_ = false;
    happened.swap(events_);
    incoming_cost_ = 0;
  }
  while (!happened.empty()) {
    Event event = std::move(happened.front());
    happened.pop_front();
    switch (event.kind) {
      case Event::Kind::kConnected:
        events.Connected(event.limits);
        break;
      case Event::Kind::kDisconnected:
        events.Disconnected(event.status);
        break;
      case Event::Kind::kReceived:
        events.Received(event.topic, std::move(event.payload), event.retained);
        break;
      case Event::Kind::kProblem:
        events.PublishProblem(event.topic, event.status);
        break;
    }
  }
}

void Mailbox::Wake() {
  const std::lock_guard lock(mu_);
  woken_ = true;
  happened_.notify_one();
}

void Mailbox::AskToStop() {
  const std::lock_guard lock(mu_);
  stopping_ = true;
  RingBell();
}

void Mailbox::AskToRenew(const std::string& why) {
  const std::lock_guard lock(mu_);
  if (!connected_) return;
  renewal_ = why;
  RingBell();
}

std::optional<std::string> Mailbox::renewal() const {
  const std::lock_guard lock(mu_);
  return renewal_;
}

bool Mailbox::stopping() const {
  const std::lock_guard lock(mu_);
  return stopping_;
}

MqttCounts Mailbox::counts() const {
  const std::lock_guard lock(mu_);
  return counts_;
}

void Mailbox::Alive() { last_alive_ns_.store(clock_.NowNs(), std::memory_order_relaxed); }

void Mailbox::Attempt() {
  const std::lock_guard lock(mu_);
  ++counts_.attempts;
}

void Mailbox::Connected(const ConnectionLimits& limits) {
  const std::lock_guard lock(mu_);
  connected_ = true;
  renewal_.reset();
  limits_ = limits;
  told_.reset();
  problems_.clear();
  Push({.kind = Event::Kind::kConnected, .limits = limits});
}

void Mailbox::Disconnected(const Status& why) {
  std::deque<Outgoing> dropped;  // freed without the lock
  const std::lock_guard lock(mu_);
  dropped.swap(outgoing_);
  outgoing_cost_ = 0;
  counts_.abandoned = counts_.accepted - counts_.acknowledged;
  const bool news = std::exchange(connected_, false) || told_ != why.message();
  told_ = why.message();
  if (news) Push({.kind = Event::Kind::kDisconnected, .status = why});
}

bool Mailbox::HasOutgoing() const {
  const std::lock_guard lock(mu_);
  return !outgoing_.empty();
}

std::optional<Mailbox::Outgoing> Mailbox::NextOutgoing() {
  const std::lock_guard lock(mu_);
  if (outgoing_.empty()) return std::nullopt;
  Outgoing next = std::move(outgoing_.front());
  outgoing_.pop_front();
  return next;
}

void Mailbox::Acknowledged(const std::string& topic, int64_t payload_bytes) {
  const std::lock_guard lock(mu_);
  ++counts_.acknowledged;
  outgoing_cost_ -= Cost(topic, payload_bytes);
  if (!problems_.empty()) problems_.erase(topic);
}

void Mailbox::NotTaken(const std::string& topic, int64_t payload_bytes, int code,
                       const Status& why) {
  const std::lock_guard lock(mu_);
  ++counts_.acknowledged;
  outgoing_cost_ -= Cost(topic, payload_bytes);
  Problem(topic, code, why);
}

void Mailbox::Received(const std::string& topic, Payload payload, bool retained) {
  const int64_t cost = Cost(topic, static_cast<int64_t>(payload.size()));
  const std::lock_guard lock(mu_);
  if (incoming_cost_ + cost > incoming_budget_) {
    ++counts_.refused_full;
    return;
  }
  ++counts_.received;
  incoming_cost_ += cost;
  Push({.kind = Event::Kind::kReceived,
        .topic = topic,
        .payload = std::move(payload),
        .retained = retained});
}

void Mailbox::RefusedTooLarge(const std::string& topic, int64_t bytes, int64_t most_bytes) {
  const std::lock_guard lock(mu_);
  ++counts_.refused_too_large;
  Problem(topic, kInboundProblem,
          Status::InvalidInput("a message of " + std::to_string(bytes) +
                               " bytes came and was dropped: we take " +
                               std::to_string(most_bytes) + " at most"));
}

}  // namespace weft::net
