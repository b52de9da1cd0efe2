// SPDX-License-Identifier: Apache-2.0
#include "tests/link/real_network.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "net/link/network_namespace.h"
#include "tests/mqtt/program.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {

namespace {

constexpr int64_t kPatienceNs = 30'000'000'000;

std::string WhyNot() {
#if WEFT_EMULATED
  return "an emulator runs this";
#endif
  if (access("/dev/net/tun", R_OK | W_OK) != 0) return "there is no /dev/net/tun to be used";
  const auto made = NetworkNamespace::Create(FreshName());
  return made.ok() ? "" : made.status().message();
}

std::string Found(const std::string& program) {
  const std::string path = FindProgram(program);
  if (path.empty()) FAIL(("please install " + program).c_str());
  return path;
}

double NumberAfter(const std::string& text, const std::string& mark) {
  const size_t at = text.find(mark);
  if (at == std::string::npos) FAIL(("'" + mark + "' is not in: " + text).c_str());
  return std::strtod(text.c_str() + at + mark.size(), nullptr);
}

}  // namespace

bool NoRealNetworksHere() {
  static const std::string why = WhyNot();
  if (why.empty()) return false;
#if !WEFT_EMULATED
  if (std::getenv("CI") != nullptr) FAIL(("CI must be able to try this, but " + why).c_str());
#endif
  std::printf("\nskipped, as %s\n", why.c_str());
  return true;
}

std::string FreshName() {
  static int count = 0;
  return "wt" + std::to_string(getpid()) + "x" + std::to_string(count++);
}

bool NamespaceExists(const std::string& name) {
  return access(("/run/netns/" + name).c_str(), F_OK) == 0;
}

Running::Running(const std::vector<std::string>& words)
    : until_ns_(SteadyClock().NowNs() + kPatienceNs) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  std::vector<std::string> found = words;
  if (found[0].find('/') == std::string::npos) found[0] = Found(found[0]);
  pid_ = StartProgram(found, ends[1]);
  close(ends[1]);
  output_ = ends[0];
}

Running::~Running() {
  Kill9();
  close(output_);
}

bool Running::ReadMore() {
  const int64_t left_ns = std::max<int64_t>(0, until_ns_ - SteadyClock().NowNs());
  pollfd waiting{.fd = output_, .events = POLLIN, .revents = 0};
  char block[4096];
  if (poll(&waiting, 1, static_cast<int>(left_ns / 1'000'000)) <= 0) return false;
  const ssize_t size = read(output_, block, sizeof(block));
  if (size <= 0) return false;
  text_.append(block, static_cast<size_t>(size));
  return true;
}

bool Running::Says(const std::string& text) {
  while (text_.find(text) == std::string::npos) {
    if (!ReadMore()) return false;
  }
  return true;
}

Answer Running::Wait() {
  while (ReadMore()) {
  }
  if (SteadyClock().NowNs() >= until_ns_) Kill9();
  int status = 0;
  if (pid_ < 0) return {.exit_code = -1, .text = text_};
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .text = text_};
}

void Running::Kill9() {
  if (pid_ >= 0) EndProgram(pid_, SIGKILL);
  pid_ = -1;
}

std::vector<std::string> Inside(const std::string& name, const std::vector<std::string>& words) {
  std::vector<std::string> all = {Found("nice"), "-n", "-20", Found("ip"), "netns", "exec", name};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

PingAnswer Ping(const std::string& name, const std::string& address,
                const std::vector<std::string>& more) {
  std::vector<std::string> words = {Found("ping"), "-n", "-q", address};
  words.insert(words.end(), more.begin(), more.end());
  const Answer answer = Running(Inside(name, words)).Wait();
  PingAnswer ping;
  if (std::sscanf(answer.text.substr(answer.text.find("---\n") + 4).c_str(),
                  "%d packets transmitted, %d received", &ping.sent, &ping.received) != 2) {
    FAIL(answer.text.c_str());
  }
  if (ping.received > 0) {
    ping.least_ms = NumberAfter(answer.text, "mdev = ");
    ping.mean_ms = NumberAfter(answer.text.substr(answer.text.find("mdev = ") + 7), "/");
  }
  return ping;
}

IperfAnswer Iperf(const std::string& client, const std::string& server, const std::string& address,
                  const std::vector<std::string>& more) {
  Running listening(Inside(server, {Found("iperf3"), "-s", "-1", "--forceflush"}));
  CHECK(listening.Says("Server listening"));
  std::vector<std::string> words = {Found("iperf3"), "-c", address, "-J"};
  words.insert(words.end(), more.begin(), more.end());
  const Answer answer = Running(Inside(client, words)).Wait();
  const nlohmann::json said = nlohmann::json::parse(answer.text, nullptr, false);
  if (answer.exit_code != 0 || said.is_discarded()) FAIL(answer.text.c_str());
  const nlohmann::json& end = said["end"];
  IperfAnswer iperf;
  iperf.mbps = end["sum_received"]["bits_per_second"].get<double>() / 1e6;
  if (end["streams"][0].contains("udp")) {
    iperf.lost = end["streams"][0]["udp"]["lost_packets"].get<int>();
    iperf.out_of_order = end["streams"][0]["udp"]["out_of_order"].get<int>();
  }
  return iperf;
}

}  // namespace weft::net
