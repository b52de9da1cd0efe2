// SPDX-License-Identifier: Apache-2.0
#include "tests/mqtt/relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace weft::net {

namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// What can be read from one is written to the other; false once either is gone.
bool Pass(int from, int to) {
  char bytes[65'536];
  const ssize_t size = recv(from, bytes, sizeof(bytes), 0);
  if (size <= 0) return false;
  for (ssize_t done = 0; done < size;) {
    const ssize_t sent = send(to, bytes + done, static_cast<size_t>(size - done), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    done += sent;
  }
  return true;
}

}  // namespace

Relay::Relay(int to_port) : to_port_(to_port), knife_(eventfd(0, EFD_CLOEXEC)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 8) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

Relay::~Relay() {
  Cut();
  close(knife_);
}

void Relay::Cut() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  if (write(knife_, &one, sizeof(one)) != sizeof(one)) std::abort();
  thread_.join();
}

void Relay::Run() {
  while (true) {
    std::vector<pollfd> fds = {{.fd = knife_, .events = POLLIN, .revents = 0},
                               {.fd = listener_, .events = POLLIN, .revents = 0}};
    for (const Line& line : lines_) {
      fds.push_back({.fd = line.near, .events = POLLIN, .revents = 0});
      fds.push_back({.fd = line.far, .events = POLLIN, .revents = 0});
    }
    poll(fds.data(), fds.size(), -1);
    if (fds[0].revents != 0) break;
    std::vector<Line> kept;
    for (size_t i = 0; i < lines_.size(); ++i) {
      const Line line = lines_[i];
      const bool whole = (fds[2 + 2 * i].revents == 0 || Pass(line.near, line.far)) &&
                         (fds[3 + 2 * i].revents == 0 || Pass(line.far, line.near));
      if (whole) {
        kept.push_back(line);
      } else {
        close(line.near);
        close(line.far);
      }
    }
    lines_ = kept;
    if (fds[1].revents != 0) {
      const int near = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      const int far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const sockaddr_in address = Loopback(to_port_);
      if (connect(far, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
        lines_.push_back({near, far});
      } else {
        close(near);
        close(far);
      }
    }
  }
  for (const Line& line : lines_) {
    close(line.near);
    close(line.far);
  }
  close(listener_);
}

void SendBytes(int port, const std::string& bytes) {
  const int line = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(port);
  if (connect(line, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      send(line, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  char answer = 0;
  if (recv(line, &answer, 1, 0) != 1) std::abort();
  close(line);
}

}  // namespace weft::net
