// SPDX-License-Identifier: Apache-2.0
// A real Mosquitto for one test, on loopback, on a port that was free, with its files in a folder
// that goes with it. It never outlives the test.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "tests/files/scratch_folder.h"

namespace weft::net {

class Broker {
 public:
  // The configuration for a port; lines that say where to log and as whom to run are added.
  using Config = std::function<std::string(int port)>;
  // Anybody may do anything; `more` lines go at the end.
  static Config Open(const std::string& more = "");

  // Ready to be connected to. Aborts, with what it said, if it does not come up.
  explicit Broker(const Config& config = Open());
  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  int port() const { return port_; }
  pid_t pid() const { return pid_; }  // -1: not running

  void Kill9();
  void Terminate();  // as an administrator would
  void Restart();    // after either, on the same port
  void Reload();     // asks it to read its files again
  void Stop();       // as if its machine hung; the kernel still takes connections
  void Continue();

 private:
  bool Start();

  apps::ScratchFolder folder_;
  Config config_;
  int port_ = 0;
  pid_t pid_ = -1;  // -1: not running
  int log_ = -1;    // the reading end of what it says
  std::string said_;
};

// A port on loopback where nobody listens just now.
int FreePort();

}  // namespace weft::net
