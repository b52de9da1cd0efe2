// SPDX-License-Identifier: Apache-2.0
#include "net/loopback/loopback_net.h"

#include <algorithm>
#include <cassert>

namespace weft::net {

LoopbackNet::LoopbackNet(uint64_t seed, int64_t payload_limit)
    : rng_(seed, 77), payload_limit_(payload_limit) {}

LoopbackNet::~LoopbackNet() = default;

void LoopbackNet::At(int64_t ns, std::function<void()> what) {
  events_.push({.ns = std::max(ns, now_ns()), .number = ++last_event_, .what = std::move(what)});
}

bool LoopbackNet::Step() {
  if (events_.empty()) return false;
  // The queue's top is const so that nobody breaks its order; it is taken off right away.
  Event event = std::move(const_cast<Event&>(events_.top()));  // NOLINT
  events_.pop();
  clock_.now = event.ns;
  event.what();
  return true;
}

std::unique_ptr<LoopbackNet::Endpoint> LoopbackNet::Join(
    std::function<bool(const std::string&)> listens, TransportEvents& events) {
  const uint64_t id = ++last_endpoint_;
  std::unique_ptr<Endpoint> endpoint(new Endpoint(*this, id, std::move(listens), events));
  endpoints_[id] = endpoint.get();
  return endpoint;
}

LoopbackNet::Endpoint::~Endpoint() {
  Disconnect(true);
  net_.endpoints_.erase(id_);
}

void LoopbackNet::Endpoint::Connect() {
  if (connected_) return;
  connected_ = true;
  deaf_ = false;
  ++connection_;
  on_the_way_ = 0;
  last_alive_ns_ = net_.now_ns();
  events_.Connected({.payload_bytes = net_.payload_limit_});
}

void LoopbackNet::Endpoint::Disconnect(bool noticed) {
  if (!connected_) return;
  connected_ = false;
  if (!noticed) return;
  for (const auto& [topic, payload] : wills_) net_.Route(topic, payload);
}

void LoopbackNet::Endpoint::Renew(const std::string& why) {
  if (!connected_) return;
  const auto later = [&](int64_t after_ns, const auto& what) {
    net_.At(net_.now_ns() + after_ns, [&net = net_, id = id_, connection = connection_, what] {
      const auto at = net.endpoints_.find(id);
      if (at != net.endpoints_.end() && at->second->connection_ == connection) what(*at->second);
    });
  };
  later(0, [why](Endpoint& endpoint) {
    if (!endpoint.connected_) return;
    endpoint.Disconnect(false);
    endpoint.events_.Disconnected(Status::Unavailable(why));
  });
  later(10'000'000, [](Endpoint& endpoint) { endpoint.Connect(); });
}

void LoopbackNet::Endpoint::Publish(const std::string& topic, Payload payload) {
  if (net_.tap) net_.tap(topic, payload);
  if (!connected_ || cut_ || static_cast<int64_t>(payload.size()) > net_.payload_limit_) {
    ++net_.dropped_;
    return;
  }
  if (net_.frozen_until_ <= net_.now_ns()) last_alive_ns_ = net_.now_ns();  // it is acknowledged
  if (net_.faults_.bytes_per_s == 0) return net_.Route(topic, payload);
  net_.At(net_.Pass(up_free_ns_, net_.now_ns(), payload),
          [&net = net_, topic, payload] { net.Route(topic, payload); });
}

int64_t LoopbackNet::Pass(int64_t& free_ns, int64_t ns, const Payload& payload) const {
  if (faults_.bytes_per_s == 0) return ns;
  const auto bytes = static_cast<int64_t>(payload.size());
  free_ns = std::max(ns, free_ns) + bytes * 1'000'000'000 / faults_.bytes_per_s;
  return free_ns;
}

void LoopbackNet::Route(const std::string& topic, const Payload& payload) {
  for (const auto& [id, endpoint] : endpoints_) {
    if (!endpoint->connected_ || !endpoint->listens_(topic)) continue;
    const int copies = rng_.Fraction() < faults_.twice ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      if (rng_.Fraction() < faults_.lose || endpoint->on_the_way_ >= faults_.queue_limit) {
        ++dropped_;
        continue;
      }
      Payload arriving = payload;
      if (rng_.Fraction() < faults_.damage && payload.size() > 0) {
        std::vector<std::byte> bytes(payload.bytes().begin(), payload.bytes().end());
        bytes[static_cast<size_t>(rng_.Between(0, static_cast<int64_t>(bytes.size()) - 1))] ^=
            static_cast<std::byte>(rng_.Between(1, 255));
        arriving = Payload::CopyOf(bytes);
      }
      const int64_t sent =
          Pass(endpoint->down_free_ns_, std::max(now_ns(), frozen_until_), payload);
      ++endpoint->on_the_way_;
      At(sent + rng_.Between(faults_.least_delay_ns, faults_.most_delay_ns),
         [this, to = id, connection = endpoint->connection_, topic, arriving] {
           Deliver(to, connection, topic, arriving);
         });
    }
  }
}

void LoopbackNet::Deliver(uint64_t id, uint64_t connection, const std::string& topic,
                          const Payload& payload) {
  const auto at = endpoints_.find(id);
  if (at == endpoints_.end()) return;
  Endpoint& endpoint = *at->second;
  if (connection != endpoint.connection_) return;
  if (endpoint.on_the_way_ > 0) --endpoint.on_the_way_;
  if (!endpoint.connected_ || endpoint.cut_ || endpoint.deaf_) {
    ++dropped_;
    return;
  }
  ++delivered_;
  Mix(static_cast<uint64_t>(now_ns()));
  Mix(id);
  for (const char c : topic) Mix(static_cast<unsigned char>(c));
  for (const std::byte b : payload.bytes()) Mix(std::to_integer<uint64_t>(b));
  endpoint.last_alive_ns_ = now_ns();
  endpoint.events_.Received(topic, payload, false);
}

void LoopbackNet::RestartBroker(int64_t within_ns) {
  for (const auto& [id, endpoint] : endpoints_) {
    if (!endpoint->connected_) continue;
    endpoint->Disconnect(false);
    endpoint->events_.Disconnected(Status::Unavailable("the broker is restarting"));
    At(now_ns() + rng_.Between(1, within_ns), [this, id = id] {
      const auto at = endpoints_.find(id);
      if (at != endpoints_.end()) at->second->Connect();
    });
  }
}

void LoopbackNet::Mix(uint64_t value) {
  event_hash_ = (event_hash_ ^ value) * 0x100000001B3u + 0x9E3779B97F4A7C15u;
}

}  // namespace weft::net
