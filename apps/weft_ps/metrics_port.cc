// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_ps/metrics_port.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weft::apps {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Nobody may hold the thread for longer.
void LimitWaits(int socket) {
  const timeval limit{.tv_sec = 2, .tv_usec = 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

bool SendAll(int socket, const std::string& text) {
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t n = send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<MetricsPort>> MetricsPort::Open(int port) {
  Descriptor listening(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(listening.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const sockaddr_in address = Loopback(port);
  if (!listening.open() ||
      bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listening.get(), 16) != 0) {
    return Status::Unavailable("no metrics on port " + std::to_string(port) + ": " +
                               std::strerror(errno) + "; choose another --metrics-port");
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return Status::Unavailable(std::string("no pipe for the metrics: ") + std::strerror(errno));
  }
  return std::unique_ptr<MetricsPort>(
      new MetricsPort(std::move(listening), Descriptor(ends[0]), Descriptor(ends[1])));
}

MetricsPort::MetricsPort(Descriptor listening, Descriptor stop_read, Descriptor stop_write)
    : listening_(std::move(listening)),
      stop_read_(std::move(stop_read)),
      stop_write_(std::move(stop_write)),
      thread_([this] { Work(); }) {}

MetricsPort::~MetricsPort() {
  const char stop = 0;
  [[maybe_unused]] const ssize_t written = write(stop_write_.get(), &stop, 1);
  thread_.join();
}

void MetricsPort::Publish(std::string metrics, std::string status_json) {
  const std::lock_guard<std::mutex> lock(mu_);
  metrics_ = std::move(metrics);
  status_json_ = std::move(status_json);
}

void MetricsPort::Work() {
  for (;;) {
    pollfd watched[] = {{.fd = listening_.get(), .events = POLLIN, .revents = 0},
                        {.fd = stop_read_.get(), .events = POLLIN, .revents = 0}};
    if (poll(watched, 2, -1) < 0 && errno != EINTR) return;
    if (watched[1].revents != 0) return;
    if (watched[0].revents == 0) continue;
    const Descriptor connection(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.open()) Answer(connection.get());
  }
}

void MetricsPort::Answer(int connection) {
  LimitWaits(connection);
  char request[2048];
  const ssize_t n = recv(connection, request, sizeof(request), 0);
  if (n <= 0) return;
  const std::string_view line(request, static_cast<size_t>(n));
  std::string body;
  const char* type = "text/plain; version=0.0.4";
  const char* result = "200 OK";
  {
    const std::lock_guard<std::mutex> lock(mu_);
    if (line.starts_with("GET /metrics ")) {
      body = metrics_;
    } else if (line.starts_with("GET /status ")) {
      body = status_json_;
      type = "application/json";
    } else {
      result = "404 Not Found";
      body = "ask for /metrics or /status\n";
    }
  }
  SendAll(connection, std::string("HTTP/1.1 ") + result + "\r\nContent-Type: " + type +
                          "\r\nContent-Length: " + std::to_string(body.size()) +
                          "\r\nConnection: close\r\n\r\n" + body);
}

Result<std::string> AskMetricsPort(int port, const std::string& path) {
  const Descriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Loopback(port);
  LimitWaits(connection.get());
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
          0 ||
      !SendAll(connection.get(), "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")) {
    return Status::Unavailable("no server answers on port " + std::to_string(port) + ": " +
                               std::strerror(errno) + "; was it started with --metrics-port " +
                               std::to_string(port) + "?");
  }
  std::string answer;
  char part[4096];
  for (ssize_t n = 0; (n = recv(connection.get(), part, sizeof(part), 0)) > 0;) {
    answer.append(part, static_cast<size_t>(n));
  }
  const size_t body = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.1 200 ") || body == std::string::npos) {
    return Status::Unavailable("port " + std::to_string(port) + " is not a weft-ps");
  }
  return answer.substr(body + 4);
}

}  // namespace weft::apps
