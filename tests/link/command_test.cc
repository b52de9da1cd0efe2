// SPDX-License-Identifier: Apache-2.0
// `weft link`, the program: what it is told, what it runs, and that it puts everything back.
#include <signal.h>

#include <nlohmann/json.hpp>

#include "tests/apps/typed.h"
#include "tests/files/scratch_folder.h"
#include "tests/link/real_network.h"
#include "tests/places.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {

using nlohmann::json;

TEST_GROUP(LinkFlags) {
  apps::ScratchFolder folder;

  static void Refuses(const std::vector<std::string>& flags, const std::string& why) {
    std::vector<std::string> words = {"link"};
    words.insert(words.end(), flags.begin(), flags.end());
    const apps::Typed typed = apps::Type(words);
    CHECK_TEXT(apps::IsOneLineRefusal(typed), typed.err.c_str());
    STRCMP_CONTAINS(why.c_str(), typed.err.c_str());
  }
};

TEST(LinkFlags, BadValuesAreOneSentence) {
  Refuses({"--mbps", "fast"}, "--mbps: 'fast' is not a number from 0 to 100000");
  Refuses({"--mbps", "-1"}, "--mbps");
  Refuses({"--mbps", "0.0001"}, "a rate in Mb/s is 0.001 to 100000");
  Refuses({"--mbps-up", "nan"}, "--mbps-up");
  Refuses({"--mbps-down", "100001"}, "--mbps-down");
  Refuses({"--rtt-ms", "120001"}, "--rtt-ms");
  Refuses({"--jitter-ms", "-1"}, "--jitter-ms");
  Refuses({"--loss", "101"}, "--loss: '101' is not a number from 0 to 100");
  Refuses({"--queue-kb", "262145"}, "--queue-kb");
  Refuses({"--mtu", "575"}, "--mtu");
  Refuses({"--name", "a/b"}, "'a/b-a' is no name");
  Refuses({"--what"}, "--what");
}

TEST(LinkFlags, BadScriptsAreOneSentence) {
  Refuses({"--script", folder.Path("none")}, "none cannot be read");
  Refuses({"--script", folder.path()}, "cannot be read");
  apps::WriteAll(folder.Path("s"), "at 1 up mbps=1\nat 2 up mpbs=1\n");
  Refuses({"--script", folder.Path("s")}, folder.Path("s") + ": line 2: 'mpbs=1' is not mbps=");
}

TEST_GROUP(LinkCommand) {
  apps::ScratchFolder folder;
  std::string name = FreshName();

  std::vector<std::string> Words(const std::vector<std::string>& flags) {
    std::vector<std::string> words = {tests::Workbench(), "link", "--name", name};
    words.insert(words.end(), flags.begin(), flags.end());
    return words;
  }
  bool Left() { return NamespaceExists(name + "-a") || NamespaceExists(name + "-b"); }
};

TEST(LinkCommand, RunsAProgramAndEndsWithItsExitCode) {
  if (NoRealNetworksHere()) return;
  const Answer answer = Running(Words({"--mbps", "100", "--rtt-ms", "4", "--", "/bin/sh", "-c",
                                       "ping -q -c 5 -i 0.01 -n 10.86.0.2; exit 7"}))
                            .Wait();
  CHECK_EQUAL(7, answer.exit_code);
  STRCMP_CONTAINS((name + "-a (edge) 10.86.0.1, " + name + "-b (cloud) 10.86.0.2").c_str(),
                  answer.text.c_str());
  STRCMP_CONTAINS(("ip netns exec " + name + "-a").c_str(), answer.text.c_str());
  STRCMP_CONTAINS("5 packets transmitted, 5 received", answer.text.c_str());
  STRCMP_CONTAINS("\nup          5  420 B ", answer.text.c_str());
  CHECK(!Left());
}

TEST(LinkCommand, JsonIsAllThatComesToStdout) {
  if (NoRealNetworksHere()) return;
  std::string line;
  for (const std::string& word : Words({"--json", "--loss", "100", "--", "ping", "-c", "3", "-i",
                                        "0.01", "-W", "0.1", "10.86.0.2"})) {
    line += "'" + word + "' ";
  }
  const Answer answer = Running({"/bin/sh", "-c", line + "2>/dev/null"}).Wait();
  CHECK_EQUAL(1, answer.exit_code);  // ping got no answer
  const json said = json::parse(answer.text, nullptr, false);
  CHECK_TEXT(!said.is_discarded(), answer.text.c_str());
  CHECK_EQUAL(1, said["exit_code"].get<int>());
  CHECK_EQUAL(3, said["up"]["lost"].get<int>());
  CHECK_EQUAL(0, said["down"]["packets"].get<int>());
}

TEST(LinkCommand, AProgramThatIsNotThereIsOneSentence) {
  if (NoRealNetworksHere()) return;
  const Answer answer = Running(Words({"--", "no-such-program"})).Wait();
  CHECK_EQUAL(2, answer.exit_code);
  STRCMP_CONTAINS("weft: 'no-such-program' cannot be started: No such file", answer.text.c_str());
  CHECK(!Left());
}

TEST(LinkCommand, ASignalEndsItCleanly) {
  if (NoRealNetworksHere()) return;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    Running link(Words({}));
    CHECK(link.Says("Ctrl-C ends it"));
    CHECK(NamespaceExists(name + "-a") && NamespaceExists(name + "-b"));
    kill(link.pid(), number);
    const Answer answer = link.Wait();
    CHECK_EQUAL(0, answer.exit_code);
    STRCMP_CONTAINS("of a processor", answer.text.c_str());
    CHECK(!Left());
  }
}

TEST(LinkCommand, ASignalEndsItsProgramToo) {
  if (NoRealNetworksHere()) return;
  Running link(Words({"--", "/bin/sh", "-c",
                      "trap 'exit 9' TERM; echo started; while :; do "
                      "sleep 0.01; done"}));
  CHECK(link.Says("started"));
  kill(link.pid(), SIGTERM);
  CHECK_EQUAL(9, link.Wait().exit_code);
  CHECK(!Left());
}

TEST(LinkCommand, AfterAKillTheNextStartCleansUp) {
  if (NoRealNetworksHere()) return;
  {
    Running link(Words({"--", "/bin/sh", "-c", "echo $$ started; exec sleep 60"}));
    CHECK(link.Says("started"));
    link.Kill9();
    // Its program dies with it; then nobody holds the other end of what it says to.
    CHECK_EQUAL(-1, link.Wait().exit_code);
  }
  CHECK(Left());
  CHECK_EQUAL(0, Running(Words({"--", "ping", "-c", "1", "-n", "10.86.0.2"})).Wait().exit_code);
  CHECK(!Left());
}

TEST(LinkCommand, TwoOfOneNameDoNotMix) {
  if (NoRealNetworksHere()) return;
  Running link(Words({}));
  CHECK(link.Says("Ctrl-C ends it"));
  const Answer second = Running(Words({"--", "true"})).Wait();
  CHECK_EQUAL(1, second.exit_code);
  STRCMP_CONTAINS((name + "-a is in use: another process made it and still runs").c_str(),
                  second.text.c_str());
  const Answer ping = Running(Inside(name + "-a", {"/bin/ping", "-c", "1", "10.86.0.2"})).Wait();
  CHECK_EQUAL(0, ping.exit_code);
  kill(link.pid(), SIGTERM);
  CHECK_EQUAL(0, link.Wait().exit_code);
}

TEST(LinkCommand, AScriptChangesTheLinkOnTime) {
  if (NoRealNetworksHere()) return;
  apps::WriteAll(folder.Path("script"), "at 0.5 down rtt-ms=60\nat 1.0 both rtt-ms=2 # and back\n");
  // ping shows the time of day of each answer.
  Running link(Words({"--rtt-ms", "2", "--script", folder.Path("script"), "--", "ping", "-n", "-D",
                      "-c", "70", "-i", "0.02", "10.86.0.2"}));
  const Answer answer = link.Wait();
  CHECK_EQUAL(0, answer.exit_code);
  double first = 0;
  int slow = 0;
  int fast = 0;
  for (size_t at = answer.text.find('['); at != std::string::npos;
       at = answer.text.find('[', at + 1)) {
    const double moment = std::strtod(answer.text.c_str() + at + 1, nullptr);
    const double ms = std::strtod(answer.text.c_str() + answer.text.find("time=", at) + 5, nullptr);
    if (first == 0) first = moment;
    const double sent = moment - first - ms / 1000;
    // The link began a little before the first packet.
    if (sent > 0.51 && sent < 0.9) {
      CHECK_TEXT(ms > 30.5, std::to_string(ms).c_str());
      ++slow;
    } else if ((sent < 0.4 || sent > 1.01) && ms < 10) {  // others met a busy machine
      CHECK_TEXT(ms > 1.8, std::to_string(ms).c_str());
      ++fast;
    }
  }
  CHECK(slow > 10 && fast > 20);
}

}  // namespace weft::net
