// SPDX-License-Identifier: Apache-2.0
#include "tests/mqtt/broker.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/mqtt/program.h"

namespace weft::net {

int FreePort() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::abort();
  }
  close(listener);
  return ntohs(address.sin_port);
}

Broker::Config Broker::Open(const std::string& more) {
  return [more](int port) {
    return "listener " + std::to_string(port) +
           " 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n" + more + "\n";
  };
}

Broker::Broker(const Config& config) : config_(config) {
  // Somebody else may take the port between the question and the broker.
  for (int i = 0; i < 5; ++i) {
    port_ = FreePort();
    if (Start()) return;
  }
  std::fprintf(stderr, "mosquitto does not start:\n%s\n", said_.c_str());
  std::abort();
}

Broker::~Broker() { Kill9(); }

bool Broker::Start() {
  const std::string path = folder_.Path("mosquitto.conf");
  apps::WriteAll(path, config_(port_) + "log_dest stderr\nlog_type error\nlog_type warning\n" +
                           "log_type notice\nlog_type information\n" +
                           (geteuid() == 0 ? "user root\n" : ""));
  const std::string program = FindProgram("mosquitto");
  int ends[2];
  if (program.empty() || pipe2(ends, O_CLOEXEC) != 0) {
    said_ = "no such program, or no pipe";
    return false;
  }
  // Nobody reads once it runs: then what it says is lost, instead of holding it up.
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  pid_ = StartProgram({program, "-c", path}, ends[1]);
  close(ends[1]);
  if (log_ >= 0) close(log_);
  log_ = ends[0];
  said_.clear();
  while (said_.find(" running\n") == std::string::npos) {
    pollfd waiting{.fd = log_, .events = POLLIN, .revents = 0};
    char text[4096];
    const ssize_t size = poll(&waiting, 1, 60'000) > 0 ? read(log_, text, sizeof(text)) : 0;
    if (size <= 0) {
      Kill9();
      return false;
    }
    said_.append(text, static_cast<size_t>(size));
  }
  return true;
}

void Broker::Kill9() {
  if (pid_ >= 0) EndProgram(pid_, SIGKILL);
  pid_ = -1;
  if (log_ >= 0) close(log_);
  log_ = -1;
}

void Broker::Terminate() {
  if (pid_ >= 0) EndProgram(pid_, SIGTERM);
  pid_ = -1;
}

void Broker::Restart() {
  if (!Start()) {
    std::fprintf(stderr, "mosquitto does not start again:\n%s\n", said_.c_str());
    std::abort();
  }
}

void Broker::Reload() { kill(pid_, SIGHUP); }

void Broker::Stop() { kill(pid_, SIGSTOP); }

void Broker::Continue() { kill(pid_, SIGCONT); }

}  // namespace weft::net
