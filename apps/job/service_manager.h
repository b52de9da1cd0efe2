// SPDX-License-Identifier: Apache-2.0
// Tells the service manager that started this program, if one did, how it is doing: systemd's
// notifications, each a datagram to the socket that NOTIFY_SOCKET names.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/clock.h"

namespace weft::apps {

// Without a manager nothing is sent. A manager that does not listen is no harm: it is not waited
// for. Thread: any.
class ServiceManager {
 public:
  // Reads the environment: NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  explicit ServiceManager(const Clock& clock);
  ~ServiceManager();  // as Stopping, if that was not said
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  // The program has begun its work; `status` is one line for `systemctl status`.
  void Ready(std::string_view status);
  // Another such line; at most one a second is passed on.
  void Say(std::string_view status);
  // To be called from loops whose standing still would be a fault, as often as they turn. Sent four
  // times in the watchdog's period at most.
  void Alive();
  // Between these the watchdog waits twelve times as long: for work that does not call Alive and
  // takes a slow board minutes, such as timing the kernels of a large model.
  void BeginLongStep();
  void EndLongStep();
  // What is left is clearing up. Only the first time after Ready is passed on.
  void Stopping();

 private:
  // Whether `due_ns` has come; then it is moved on by `pause_ns`.
  bool TakeTurn(std::atomic<int64_t>& due_ns, int64_t pause_ns) const;
  void SetPatience(int64_t periods) const;
  void Send(std::string_view message) const;

  const Clock& clock_;
  int socket_ = -1;  // -1: no manager
  sockaddr_un address_ = {};
  socklen_t address_bytes_ = 0;
  int64_t alive_every_ns_ = 0;  // 0: no watchdog
  std::atomic<int64_t> next_alive_ns_ = 0;
  std::atomic<int64_t> next_status_ns_ = 0;
  std::atomic<bool> ready_ = false;
};

}  // namespace weft::apps
