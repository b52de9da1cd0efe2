// SPDX-License-Identifier: Apache-2.0
#include "net/link/network_namespace.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>

#include "net/link/link_pair.h"
#include "tests/link/real_network.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {

namespace {

// What this process holds: threads, open files.
struct Holdings {
  std::ptrdiff_t threads = Count("/proc/self/task");
  std::ptrdiff_t files = Count("/proc/self/fd");
  bool operator==(const Holdings&) const = default;

  static std::ptrdiff_t Count(const char* folder) {
    return std::distance(std::filesystem::directory_iterator(folder), {});
  }
};

bool CanReach(const char* address) {
  const int one = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_port = htons(9);
  inet_pton(AF_INET, address, &name.sin_addr);
  const bool reached = connect(one, reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0;
  close(one);
  return reached;
}

}  // namespace

TEST_GROUP(NetworkNamespace){};

TEST(NetworkNamespace, BadNamesAreRefused) {
  for (const char* name : {"", ".", "..", "a/b", "-a", "a b", "a\n"}) {
    CHECK(NetworkNamespace::Create(name).status().code() == StatusCode::kInvalidInput);
  }
  CHECK(NetworkNamespace::Create(std::string(65, 'a')).status().code() ==
        StatusCode::kInvalidInput);
}

TEST(NetworkNamespace, IsANetworkOfItsOwnWithLoopbackUp) {
  if (NoRealNetworksHere()) return;
  const auto place = NetworkNamespace::Create(FreshName());
  CHECK(place.ok());
  bool loopback = false;
  bool elsewhere = true;
  CHECK((*place)
            ->Run([&] {
              loopback = CanReach("127.0.0.1");
              elsewhere = CanReach("192.0.2.1");
              return Status::Ok();
            })
            .ok());
  CHECK(loopback);
  CHECK(!elsewhere);
  // What the work answers comes back, and this thread has not moved.
  CHECK((*place)->Run([] { return Status::NotFound("x"); }).code() == StatusCode::kNotFound);
  const Answer inside =
      Running(Inside((*place)->name(), {"/bin/readlink", "/proc/self/ns/net"})).Wait();
  const Answer here = Running({"readlink", "/proc/self/ns/net"}).Wait();
  CHECK(inside.exit_code == 0 && here.exit_code == 0 && inside.text != here.text);
}

TEST(NetworkNamespace, ALinkLeavesNothingBehind) {
  if (NoRealNetworksHere()) return;
  const std::string name = FreshName();
  const Holdings before;
  {
    const auto pair = LinkPair::Create(name, {}, {}, 1500, 1);
    CHECK_TEXT(pair.ok(), pair.status().message().c_str());
    CHECK(NamespaceExists(name + "-a") && NamespaceExists(name + "-b"));
    CHECK_EQUAL(
        0, Running(Inside(name + "-a", {"/bin/ip", "link", "show", "weft0"})).Wait().exit_code);
    CHECK(Holdings().threads == before.threads + 1);
  }
  CHECK(!NamespaceExists(name + "-a") && !NamespaceExists(name + "-b"));
  CHECK(Holdings() == before);
}

TEST(NetworkNamespace, ANameInUseIsRefusedAndNothingStays) {
  if (NoRealNetworksHere()) return;
  const std::string name = FreshName();
  const auto cloud = NetworkNamespace::Create(name + "-b");
  CHECK(cloud.ok());
  const Holdings before;
  const Status refused = LinkPair::Create(name, {}, {}, 1500, 1).status();
  CHECK(refused.code() == StatusCode::kUnavailable);
  STRCMP_CONTAINS((name + "-b is in use").c_str(), refused.message().c_str());
  CHECK(!NamespaceExists(name + "-a"));
  CHECK(NamespaceExists(name + "-b"));
  CHECK(Holdings() == before);
}

TEST(NetworkNamespace, WhatAKilledProcessLeftIsTakenAway) {
  if (NoRealNetworksHere()) return;
  const std::string name = FreshName();
  CHECK_EQUAL(0, Running({"ip", "netns", "add", name}).Wait().exit_code);
  {
    const auto place = NetworkNamespace::Create(name);
    CHECK_TEXT(place.ok(), place.status().message().c_str());
  }
  CHECK(!NamespaceExists(name));
}

TEST(NetworkNamespace, ALeftoverWithAProcessInItIsNamed) {
  if (NoRealNetworksHere()) return;
  const std::string name = FreshName();
  CHECK_EQUAL(0, Running({"ip", "netns", "add", name}).Wait().exit_code);
  {
    Running inside(Inside(name, {"/bin/sh", "-c", "echo there; exec sleep 60"}));
    CHECK(inside.Says("there"));
    const Status refused = NetworkNamespace::Create(name).status();
    CHECK(refused.code() == StatusCode::kUnavailable);
    STRCMP_CONTAINS(("process " + std::to_string(inside.pid()) + " (").c_str(),
                    refused.message().c_str());
    CHECK(NamespaceExists(name));
  }
  CHECK(NetworkNamespace::Create(name).ok());
  CHECK(!NamespaceExists(name));
}

TEST(NetworkNamespace, WithoutTheRightItSaysWhatIsNeeded) {
#if WEFT_EMULATED
  NoRealNetworksHere();
#else
  int said[2];
  CHECK(pipe(said) == 0);
  const pid_t child = fork();
  if (child == 0) {
    // As nobody, if we are root.
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(2);
    const std::string message = NetworkNamespace::Create("weft-test-x").status().message();
    const bool written =
        write(said[1], message.data(), message.size()) == static_cast<ssize_t>(message.size());
    _exit(written ? 0 : 3);
  }
  close(said[1]);
  char text[1000] = {};
  const ssize_t size = read(said[0], text, sizeof(text) - 1);
  close(said[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  CHECK(size > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  STRCMP_CONTAINS("it takes root, or CAP_SYS_ADMIN with CAP_NET_ADMIN", text);
#endif
}

TEST(NetworkNamespace, ALinkThatCannotBeIsRefused) {
  if (NoRealNetworksHere()) return;
  const auto place = NetworkNamespace::Create(FreshName());
  CHECK(place.ok());
  const LinkEnd end = {.place = place->get(), .address = "10.86.0.1"};
  const auto refused = [&](const LinkPlan& plan) {
    return LinkEmulator::Create({plan}, 1).status().code() == StatusCode::kInvalidInput;
  };
  LinkEnd nowhere = end;
  nowhere.address = "10.86.0";
  LinkEnd wide = end;
  wide.prefix_bits = 33;
  LinkEnd nameless = end;
  nameless.device = "a_name_too_long_for_linux";
  CHECK(refused({.edge = nowhere, .cloud = end}));
  CHECK(refused({.edge = wide, .cloud = end}));
  CHECK(refused({.edge = nameless, .cloud = end}));
  CHECK(refused({.edge = end, .cloud = end, .up = {.loss = 2}}));
  CHECK(refused({.edge = end, .cloud = end, .mtu = 100}));
  // Two devices of one name in one place: the world's fault, and nothing stays of the first.
  CHECK(LinkEmulator::Create({{.edge = end, .cloud = end}}, 1).status().code() ==
        StatusCode::kUnavailable);
  CHECK(Running(Inside((*place)->name(), {"/bin/ip", "link", "show", "weft0"})).Wait().exit_code !=
        0);
}

}  // namespace weft::net
