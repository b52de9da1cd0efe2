// SPDX-License-Identifier: Apache-2.0
// Real namespaces, and programs that measure in them. Where this machine does not let us make any,
// tests that need them say why and pass; with CI set in the environment they fail, as there such a
// machine would mean that nothing is tried.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace weft::net {

// Whether to leave it; then prints why, or fails.
bool NoRealNetworksHere();

// A name that no other test has at this time.
std::string FreshName();

// Whether `ip netns` knows it.
bool NamespaceExists(const std::string& name);

struct Answer {
  int exit_code = -1;  // -1: it was ended by a signal
  std::string text;    // what it said
};

// A program that a test starts. It is killed with the object, or when it takes half a minute.
class Running {
 public:
  explicit Running(const std::vector<std::string>& words);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  pid_t pid() const { return pid_; }
  // Whether it says that, now or later. What came before is in text().
  bool Says(const std::string& text);
  // How it ends by itself.
  Answer Wait();
  void Kill9();

 private:
  bool ReadMore();

  int64_t until_ns_;
  pid_t pid_ = -1;  // -1: it is gone
  int output_ = -1;
  std::string text_;
};

// The words as a program within the namespace `name`, ahead of others that this machine is busy
// with, but behind the emulator: not in real time, as then the kernel would hold that up for some
// 50 ms now and then for the others' sake.
std::vector<std::string> Inside(const std::string& name, const std::vector<std::string>& words);

// ping's answer, in milliseconds.
struct PingAnswer {
  int sent = 0;
  int received = 0;
  double least_ms = 0;
  double mean_ms = 0;
};
// From the namespace `name`; `more` are flags.
PingAnswer Ping(const std::string& name, const std::string& address,
                const std::vector<std::string>& more);

// One iperf3 from `client` to `server`, which is at `address`.
struct IperfAnswer {
  double mbps = 0;  // of payload, as the receiver saw it
  int lost = 0;     // UDP only
  int out_of_order = 0;
};
IperfAnswer Iperf(const std::string& client, const std::string& server, const std::string& address,
                  const std::vector<std::string>& more);

}  // namespace weft::net
