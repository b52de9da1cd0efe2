// SPDX-License-Identifier: Apache-2.0
#include "net/mqtt/tcp_probe.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/clock.h"

namespace weft::net {

int AwaitTcp(int socket, const Clock& clock, int64_t until_ns, int bell) {
  while (true) {
    pollfd fds[2] = {{.fd = socket, .events = POLLOUT, .revents = 0},
                     {.fd = bell, .events = POLLIN, .revents = 0}};
    const int64_t left_ns = std::clamp<int64_t>(until_ns - clock.NowNs(), 0, 1'000 * kNsPerMs);
    if (poll(fds, 2, static_cast<int>((left_ns + kNsPerMs - 1) / kNsPerMs)) < 0 && errno != EINTR) {
      return errno;
    }
    if (fds[0].revents != 0) {
      int error = 0;
      socklen_t size = sizeof(error);
      getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
      return error;
    }
    if (fds[1].revents != 0) return ECANCELED;
    if (clock.NowNs() >= until_ns) return ETIMEDOUT;
  }
}

int ProbeTcp(const std::string& address, int port, const Clock& clock, int64_t until_ns, int bell) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return EHOSTUNREACH;
  }
  int error = 0;
  const int probe = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (probe < 0 ||
      (connect(probe, found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS)) {
    error = errno;
  } else {
    error = AwaitTcp(probe, clock, until_ns, bell);
  }
  if (probe >= 0) close(probe);
  freeaddrinfo(found);
  return error;
}

}  // namespace weft::net
