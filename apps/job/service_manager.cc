// SPDX-License-Identifier: Apache-2.0
#include "apps/job/service_manager.h"

#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace weft::apps {
namespace {

constexpr int64_t kStatusEveryNs = 1'000'000'000;

// A variable of the environment as a number, or 0.
int64_t NumberFrom(const char* variable) {
  const char* text = std::getenv(variable);
  int64_t number = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), number);
  return number;
}

}  // namespace

ServiceManager::ServiceManager(const Clock& clock) : clock_(clock) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr) return;
  const size_t length = std::strlen(path);
  if (length < 2 || length >= sizeof address_.sun_path || (path[0] != '/' && path[0] != '@'))
    return;
  address_.sun_family = AF_UNIX;
  std::memcpy(address_.sun_path, path, length);
  if (path[0] == '@') address_.sun_path[0] = '\0';  // a name that is in no folder
  address_bytes_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int64_t watched_pid = NumberFrom("WATCHDOG_PID");
  if (watched_pid == 0 || watched_pid == getpid()) {
    alive_every_ns_ = NumberFrom("WATCHDOG_USEC") * 1000 / 4;
  }
}

ServiceManager::~ServiceManager() {
  Stopping();
  if (socket_ >= 0) close(socket_);
}

void ServiceManager::Ready(std::string_view status) {
  ready_ = true;
  Send("READY=1\nSTATUS=" + std::string(status));
}

void ServiceManager::Say(std::string_view status) {
  if (socket_ >= 0 && TakeTurn(next_status_ns_, kStatusEveryNs)) {
    Send("STATUS=" + std::string(status));
  }
}

void ServiceManager::Alive() {
  if (alive_every_ns_ > 0 && TakeTurn(next_alive_ns_, alive_every_ns_)) Send("WATCHDOG=1");
}

void ServiceManager::BeginLongStep() { SetPatience(12); }

void ServiceManager::EndLongStep() { SetPatience(1); }

void ServiceManager::SetPatience(int64_t periods) const {
  const int64_t period_us = alive_every_ns_ * 4 / 1000;
  if (period_us <= 0) return;
  Send("WATCHDOG=1\nWATCHDOG_USEC=" + std::to_string(periods * period_us));
}

void ServiceManager::Stopping() {
  if (ready_.exchange(false)) Send("STOPPING=1");
}

bool ServiceManager::TakeTurn(std::atomic<int64_t>& due_ns, int64_t pause_ns) const {
  const int64_t now = clock_.NowNs();
  int64_t due = due_ns;
  return now >= due && due_ns.compare_exchange_strong(due, now + pause_ns);
}

void ServiceManager::Send(std::string_view message) const {
  if (socket_ < 0) return;
  sendto(socket_, message.data(), message.size(), MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&address_), address_bytes_);
}

}  // namespace weft::apps
