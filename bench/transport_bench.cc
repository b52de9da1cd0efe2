// SPDX-License-Identifier: Apache-2.0
#include "bench/transport_bench.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "net/mqtt/mqtt_transport.h"

namespace weft::bench {

namespace {

constexpr int64_t kPatienceNs = 10'000'000'000;

class Counter final : public net::TransportEvents {
 public:
  void Connected(const net::ConnectionLimits& limits) override {
    connected = true;
    payload_bytes = limits.payload_bytes;
  }
  void Disconnected(const Status& reason) override {
    connected = false;
    why = reason;
  }
  void Received(const std::string&, net::Payload, bool) override { ++received; }
  void PublishProblem(const std::string&, const Status& reason) override { why = reason; }

  bool connected = false;
  int64_t payload_bytes = 0;
  int64_t received = 0;
  Status why;
};

double Median(std::vector<double> values) {
  assert(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class TransportRun {
 public:
  TransportRun(const Clock& clock, std::unique_ptr<net::MqttTransport> publisher,
               std::unique_ptr<net::MqttTransport> subscriber, std::string topic)
      : clock_(clock),
        publisher_(std::move(publisher)),
        subscriber_(std::move(subscriber)),
        topic_(std::move(topic)) {}

  Status Connect() {
    const int64_t until_ns = clock_.NowNs() + kPatienceNs;
    while (!sent_.connected || !got_.connected) {
      if (clock_.NowNs() >= until_ns) {
        return got_.why.ok() && !sent_.why.ok() ? sent_.why : Failure("no connection");
      }
      publisher_->Poll(sent_, clock_.NowNs() + 10'000'000);
      subscriber_->Poll(got_, clock_.NowNs() + 10'000'000);
    }
    return Status::Ok();
  }

  int64_t payload_bytes() const { return sent_.payload_bytes; }

  // How long `count` messages take, with at most `in_flight` on their way.
  Result<int64_t> Send(const net::Payload& payload, int64_t count, int64_t in_flight) {
    const int64_t began_ns = clock_.NowNs();
    const int64_t already = got_.received;
    int64_t published = 0;
    int64_t moved_ns = began_ns;
    for (int64_t received = 0; received < count;) {
      for (; published < count && published - received < in_flight; ++published) {
        publisher_->Publish(topic_, payload);
      }
      subscriber_->Poll(got_, moved_ns + kPatienceNs);
      publisher_->Poll(sent_, 0);
      if (got_.received - already == received) {
        if (clock_.NowNs() - moved_ns >= kPatienceNs) return Failure("nothing arrives");
      } else {
        received = got_.received - already;
        moved_ns = clock_.NowNs();
      }
      if (!sent_.connected || !got_.connected) return Failure("the connection was lost");
    }
    return clock_.NowNs() - began_ns;
  }

 private:
  Status Failure(const std::string& what) const {
    const Status& why = got_.why.ok() ? sent_.why : got_.why;
    return Status::Unavailable(why.ok() ? what : what + ": " + why.message());
  }

  const Clock& clock_;
  std::unique_ptr<net::MqttTransport> publisher_;
  std::unique_ptr<net::MqttTransport> subscriber_;
  const std::string topic_;
  Counter sent_;
  Counter got_;
};

// The line through (message_bytes, single_ns) with the median of all slopes.
void Fit(TransportResult& result) {
  std::vector<double> slopes;
  for (const MessageSizeResult& a : result.sizes) {
    for (const MessageSizeResult& b : result.sizes) {
      if (a.message_bytes >= b.message_bytes) continue;
      slopes.push_back(static_cast<double>(b.single_ns - a.single_ns) /
                       static_cast<double>(b.message_bytes - a.message_bytes));
    }
  }
  const double slope = slopes.empty() ? 0 : std::max(0.0, Median(slopes));
  std::vector<double> rests;
  for (const MessageSizeResult& size : result.sizes) {
    rests.push_back(static_cast<double>(size.single_ns) -
                    slope * static_cast<double>(size.message_bytes));
  }
  result.message_ns = std::max(0.0, Median(rests));
  result.bytes_per_s = slope > 0 ? 1e9 / slope : 0;
}

// Calls `work` where `place` is, and returns what it returns.
Status In(const net::NetworkNamespace* place, const std::function<Status()>& work) {
  return place != nullptr ? place->Run(work) : work();
}

// A transport whose thread, and so its sockets, are in `place`.
Result<std::unique_ptr<net::MqttTransport>> TransportIn(const net::NetworkNamespace* place,
                                                        const Clock& clock,
                                                        net::MqttSetting setting) {
  std::unique_ptr<net::MqttTransport> transport;
  const Status status = In(place, [&]() -> Status {
    auto made = net::MqttTransport::Create(clock, std::move(setting));
    if (made.ok()) transport = std::move(*made);
    return made.status();
  });
  if (!status.ok()) return status;
  return transport;
}

// -1, with errno, if there is none.
int TcpSocketIn(const net::NetworkNamespace* place, int family) {
  int made = -1;
  const Status status = In(place, [&] {
    made = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return Status::Ok();
  });
  return status.ok() ? made : -1;
}

// A socket for `address` and any port; nullopt if the address is not one.
struct Endpoint {
  sockaddr_storage address = {};
  socklen_t size = 0;
};

std::optional<Endpoint> NumericAddress(const std::string& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), nullptr, &hints, &found) != 0) return std::nullopt;
  Endpoint endpoint;
  endpoint.size = found->ai_addrlen;
  std::copy_n(reinterpret_cast<const char*>(found->ai_addr), found->ai_addrlen,
              reinterpret_cast<char*>(&endpoint.address));
  freeaddrinfo(found);
  return endpoint;
}

}  // namespace

Result<TransportResult> BenchTransport(const Clock& clock, net::MqttSetting publisher,
                                       net::MqttSetting subscriber, const std::string& topic,
                                       const TransportLoad& load, const TransportEnds& ends) {
  if (load.message_bytes.empty() || load.singles < 1) {
    return Status::InvalidInput("there must be a size of messages and one message at least");
  }
  const int64_t largest = *std::max_element(load.message_bytes.begin(), load.message_bytes.end());
  if (*std::min_element(load.message_bytes.begin(), load.message_bytes.end()) < 1) {
    return Status::InvalidInput("a message has one byte at least");
  }
  // Only the window is to hold anything back.
  const int64_t on_the_way = 4 * std::max(load.window_bytes, 2 * largest) + (64 << 20);
  publisher.payload_bytes = subscriber.payload_bytes = largest;
  publisher.outgoing_bytes = subscriber.incoming_bytes = on_the_way;
  subscriber.outgoing_bytes = publisher.incoming_bytes = 2 * largest + (1 << 20);
  subscriber.subscriptions = {topic};
  publisher.subscriptions = {};
  auto sender = TransportIn(ends.sender, clock, std::move(publisher));
  if (!sender.ok()) return sender.status();
  auto receiver = TransportIn(ends.receiver, clock, std::move(subscriber));
  if (!receiver.ok()) return receiver.status();
  TransportRun run(clock, std::move(*sender), std::move(*receiver), topic);
  if (Status status = run.Connect(); !status.ok()) return status;
  if (run.payload_bytes() < largest) {
    return Status::InvalidInput("the broker takes messages of " +
                                std::to_string(run.payload_bytes()) + " bytes at most");
  }

  TransportResult result;
  for (const int64_t bytes : load.message_bytes) {
    const std::vector<std::byte> content(static_cast<size_t>(bytes), std::byte{0x5A});
    const net::Payload payload = net::Payload::CopyOf(content);
    // Small messages are counted as if they were larger, as the transport's budget does.
    const int64_t in_flight =
        std::max<int64_t>(2, load.window_bytes / (bytes + net::Mailbox::kMessageOverhead));
    const int64_t count = std::max<int64_t>(16, load.stream_bytes / bytes);
    if (const auto warm = run.Send(payload, 4, 1); !warm.ok()) return warm.status();
    std::vector<double> singles;
    for (int i = 0; i < load.singles; ++i) {
      const Result<int64_t> one = run.Send(payload, 1, 1);
      if (!one.ok()) return one.status();
      singles.push_back(static_cast<double>(*one));
    }
    const Result<int64_t> all = run.Send(payload, count, std::min<int64_t>(in_flight, 256));
    if (!all.ok()) return all.status();
    result.sizes.push_back(
        {.message_bytes = bytes,
         .stream_bytes_per_s = static_cast<double>(bytes * count) * 1e9 / static_cast<double>(*all),
         .single_ns = static_cast<int64_t>(Median(singles))});
  }
  Fit(result);
  return result;
}

Result<double> BenchTcpStream(const Clock& clock, const std::string& address, int64_t bytes,
                              const TransportEnds& ends) {
  std::optional<Endpoint> endpoint = NumericAddress(address);
  if (!endpoint || bytes < 1) {
    return Status::InvalidInput("'" + address +
                                "' is no address in numbers, or nothing is to be sent");
  }
  auto* const name = reinterpret_cast<sockaddr*>(&endpoint->address);
  const int listener = TcpSocketIn(ends.receiver, endpoint->address.ss_family);
  const int sender = TcpSocketIn(ends.sender, endpoint->address.ss_family);
  int receiver = -1;
  // Both ends are made here: the kernel connects before anybody accepts.
  const bool stands = bind(listener, name, endpoint->size) == 0 && listen(listener, 1) == 0 &&
                      getsockname(listener, name, &endpoint->size) == 0 &&
                      connect(sender, name, endpoint->size) == 0 &&
                      (receiver = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;
  Status status;
  int64_t received = 0;
  int64_t warm = 0;  // received when the path's window was found, at
  int64_t warm_ns = 0;
  int64_t took_ns = 0;
  if (!stands) {
    status = Status::SystemFailure("no TCP stream by way of " + address);
  } else {
    warm_ns = clock.NowNs();
    std::thread reading([&, receiver] {
      std::vector<char> buffer(1 << 18);
      while (received < bytes) {
        const ssize_t got = recv(receiver, buffer.data(), buffer.size(), 0);
        if (got <= 0) return;
        received += got;
        if (warm == 0 && received >= bytes / 8 && received < bytes) {
          warm = received;
          warm_ns = clock.NowNs();
        }
      }
    });
    const std::vector<char> content(1 << 18, 'Z');
    for (int64_t sent = 0; sent < bytes;) {
      const auto size = static_cast<size_t>(
          std::min<int64_t>(bytes - sent, static_cast<int64_t>(content.size())));
      const ssize_t wrote = send(sender, content.data(), size, MSG_NOSIGNAL);
      if (wrote <= 0) break;
      sent += wrote;
    }
    shutdown(sender, SHUT_WR);
    reading.join();
    took_ns = std::max<int64_t>(1, clock.NowNs() - warm_ns);
    if (received < bytes) status = Status::Unavailable("the TCP stream broke off");
  }
  for (const int one : {listener, sender, receiver}) {
    if (one >= 0) close(one);
  }
  if (!status.ok()) return status;
  return static_cast<double>(bytes - warm) * 1e9 / static_cast<double>(took_ns);
}

}  // namespace weft::bench
