// SPDX-License-Identifier: Apache-2.0
// Speaks TLS with one client, however old or weak: what no broker can be brought to. With its help
// a test shows that an attempt which the broker turns down is a real one.
#pragma once

#include <string>
#include <thread>

namespace weft::apps {

class PermissiveServer {
 public:
  // On loopback, as whoever <identity>.crt and <identity>.key say. Aborts if it cannot.
  explicit PermissiveServer(const std::string& identity);
  ~PermissiveServer();
  PermissiveServer(const PermissiveServer&) = delete;
  PermissiveServer& operator=(const PermissiveServer&) = delete;

  int port() const { return port_; }

 private:
  int listener_ = -1;
  int port_ = 0;
  std::thread thread_;  // ends with the first client, or with the listener
};

}  // namespace weft::apps
