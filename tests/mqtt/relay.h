// SPDX-License-Identifier: Apache-2.0
// A port that passes bytes on to another, until the line is cut: both ends then see the other gone,
// without a word.
#pragma once

#include <string>
#include <thread>
#include <vector>

namespace weft::net {

class Relay {
 public:
  explicit Relay(int to_port);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  int port() const { return port_; }
  // For good: nobody gets through any more.
  void Cut();

 private:
  struct Line {
    int near;
    int far;
  };
  void Run();

  const int to_port_;
  int listener_ = -1;
  int port_ = 0;
  int knife_ = -1;           // an eventfd
  std::vector<Line> lines_;  // the thread's
  std::thread thread_;
};

// Says `bytes` to a port on loopback, and hangs up once the other side has answered something.
void SendBytes(int port, const std::string& bytes);

}  // namespace weft::net
