// SPDX-License-Identifier: Apache-2.0
// What the programs tell the service manager that started them.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "apps/job/job_model.h"
#include "apps/job/service_manager.h"
#include "apps/weft_edge/job_channel.h"
#include "core/model/zoo.h"
#include "tests/edge/child_process.h"
#include "tests/files/scratch_folder.h"
#include "tests/job/lenet_job.h"
#include "tests/mqtt/broker.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

// Stands for systemd: programs started while it lives tell it how they are.
class Manager {
 public:
  Manager(const std::string& path, int64_t watchdog_ms) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
    setenv("WATCHDOG_USEC", std::to_string(watchdog_ms * 1000).c_str(), 1);
  }
  ~Manager() {
    close(socket_);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
  }

  // The next message, or "" if none comes in time.
  std::string Next(int within_ms) {
    pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, within_ms) <= 0) return "";
    char text[1024];
    const ssize_t bytes = recv(socket_, text, sizeof text, 0);
    return {text, static_cast<size_t>(std::max<ssize_t>(0, bytes))};
  }
  // Whether a message that begins so comes before they stop coming.
  bool Hears(const std::string& beginning, int within_ms = 60'000) {
    for (std::string said; !(said = Next(within_ms)).empty();) {
      if (said.starts_with(beginning)) return true;
    }
    return false;
  }

 private:
  int socket_ = -1;
};

// Never brings anything; Poll returns at once, so that a thread that polls turns.
class SilentTransport final : public net::Transport {
 public:
  void Publish(const std::string&, net::Payload) override {}
  void Poll(net::TransportEvents&, int64_t) override { usleep(100); }
  void Renew(const std::string&) override {}
  void Wake() override {}
  int64_t last_alive_ns() const override { return 0; }
};

class NoSink final : public LogSink {
 public:
  void Write(LogLevel, std::string_view) override {}
};

}  // namespace

TEST_GROUP(Service) {
  std::atomic<int> complete = 0;
  void HearsAll(Manager & manager) {
    if (manager.Hears("READY=1") && manager.Hears("WATCHDOG=1") && manager.Hears("STOPPING=1")) {
      ++complete;
    }
  }

  ScratchFolder folder;
  LenetJob job{.workers = 1, .rounds = 20};
};

TEST(Service, AServerAndAWorkerSayThatTheyWorkAndLiveAndStop) {
  net::Broker broker;
  Manager server_manager(folder.Path("server"), 40);
  ChildProcess server(PsCommand(job.PsArguments(broker.port(), folder.Path("state"))));
  Manager worker_manager(folder.Path("worker"), 40);
  ChildProcess worker(EdgeCommand(job.EdgeArguments(broker.port(), 0)));
  // Both at once: what is not read in time is lost, a socket holds no more than ten.
  std::thread reader([&] { HearsAll(worker_manager); });
  HearsAll(server_manager);
  reader.join();
  CHECK_EQUAL(2, complete);
  LONGS_EQUAL(0, server.Wait());
  LONGS_EQUAL(0, worker.Wait());
}

TEST(Service, ADeviceThatTrainsAloneSaysSoToo) {
  Manager manager(folder.Path("alone"), 4);
  ChildProcess alone(
      EdgeCommand({"train", "--local", "--model", "lenet5", "--data", "synthetic:1x28x28:10:64",
                   "--batch", "8", "--steps", "12", "--backend", "ref", "--threads", "1"}));
  CHECK(manager.Hears("READY=1"));
  CHECK(manager.Hears("WATCHDOG=1"));
  CHECK(manager.Hears("STOPPING=1"));
}

TEST(Service, AWorkerWhoseTrainingStandsStillIsNotCalledAlive) {
  Manager manager(folder.Path("manager"), 4);
  const SteadyClock clock;
  ServiceManager service(clock);
  const model::Graph graph = *model::BuildModel("lenet5", {.classes = 10, .input = {1, 28, 28}});
  const net::WireLayout layout = *WireLayoutOf(graph);
  SilentTransport transport;
  NoSink sink;
  std::atomic<bool> stop = false;
  Serial serial;
  JobChannel channel({.job = "digits", .worker = "w0"}, layout, transport,
                     {.payload_bytes = 100'000}, clock, Logger(sink, LogLevel::kWarning), service,
                     stop, serial);
  STRCMP_EQUAL("", manager.Next(200).c_str());
  stop = true;
  CHECK(channel.NextRound().ok());  // the training thread looks around
  STRCMP_EQUAL("WATCHDOG=1", manager.Next(60'000).c_str());
}

TEST(Service, WithoutAManagerNothingIsSaidAndNobodyWaits) {
  unsetenv("NOTIFY_SOCKET");
  const SteadyClock clock;
  ServiceManager nobody(clock);
  nobody.Ready("to work");
  nobody.Alive();
  setenv("NOTIFY_SOCKET", folder.Path("nobody listens").c_str(), 1);
  ServiceManager deaf(clock);
  deaf.Ready("to work");
  unsetenv("NOTIFY_SOCKET");
}

}  // namespace weft::apps
