// SPDX-License-Identifier: Apache-2.0
// `weft lab` as people start it, with a real broker over emulated links. Needs root and TUN; where
// they are not to be had, it says so and checks nothing.
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/terminal/console.h"
#include "tests/lab/running_weft.h"
#include "tests/link/real_network.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

using nlohmann::json;

}  // namespace

TEST_GROUP(Lab) {
  const std::string name = net::FreshName();

  std::vector<std::string> Arguments(const std::string& strategies, int rounds) const {
    return {"lab",
            "--model",
            "lenet5",
            "--batch",
            "8",
            "--mbps",
            "100",
            "--rtt-ms",
            "4",
            "--strategies",
            strategies,
            "--rounds",
            std::to_string(rounds),
            "--name",
            name};
  }
  // Namespaces that are still there.
  int Left() const {
    int left = 0;
    for (const char* part : {"cloud", "w1", "w2"}) {
      left += net::NamespaceExists(name + "-" + part) ? 1 : 0;
    }
    return left;
  }
};

TEST(Lab, StrategiesEndWithTheSameModelAndNothingIsLeft) {
  if (net::NoRealNetworksHere()) return;
  std::vector<std::string> arguments = Arguments("sequential,weave", 12);
  arguments.emplace_back("--json");
  RunningWeft weft(arguments);
  std::vector<json> objects;
  while (const std::optional<std::string> line = weft.NextLine()) {
    objects.push_back(json::parse(*line));
  }
  LONGS_EQUAL_TEXT(kExitOk, weft.ExitCode(), weft.err().c_str());
  STRCMP_EQUAL("", weft.err().c_str());
  LONGS_EQUAL(3, objects.size());
  STRCMP_EQUAL("sequential", objects[0]["strategy"].get<std::string>().c_str());
  STRCMP_EQUAL("weave", objects[1]["strategy"].get<std::string>().c_str());
  for (const json& object : {objects[0], objects[1]}) {
    STRCMP_EQUAL("real", object["compute"].get<std::string>().c_str());
    LONGS_EQUAL(64, object["model_hash"].get<std::string>().size());
  }
  LONGS_EQUAL(12 - 3, objects[0]["rounds_measured"].get<int>());
  CHECK(objects[0]["model_hash"] == objects[1]["model_hash"]);
  CHECK_TRUE(objects[2]["same_model"].get<bool>());
  // Other tests run beside this one, so the machine may well be in the way; a time that is told,
  // however, cannot be shorter than the bytes take on the link.
  for (const auto& [strategy, ms] : objects[2]["iteration_ms"].items()) {
    CHECK_TEXT(ms.get<double>() > 246'824 * 8 / 100e3, strategy.c_str());
  }
  LONGS_EQUAL(0, Left());
}

TEST(Lab, PeopleGetATable) {
  if (net::NoRealNetworksHere()) return;
  RunningWeft weft(Arguments("lbl", 6));
  std::string out;
  while (const std::optional<std::string> line = weft.NextLine()) out += *line + "\n";
  LONGS_EQUAL_TEXT(kExitOk, weft.ExitCode(), weft.err().c_str());
  STRCMP_CONTAINS("real compute", out.c_str());
  STRCMP_CONTAINS("tcp_slow_start_after_idle=0", out.c_str());
  STRCMP_CONTAINS("\nstrategy  iteration", out.c_str());
  STRCMP_CONTAINS("\nit ended with model ", out.c_str());
}

TEST(Lab, StoppedItLeavesNothing) {
  if (net::NoRealNetworksHere()) return;
  std::vector<std::string> arguments = Arguments("lbl", 1'000'000);
  arguments.insert(arguments.end(), {"--workers", "2"});
  RunningWeft weft(arguments);
  while (weft.ScratchPath().empty() || weft.Children().size() < 5) {
  }
  const std::vector<ForeignProcess> children = weft.Children();
  const std::string scratch = weft.ScratchPath();
  LONGS_EQUAL(3, Left());
  weft.Signal(SIGINT);
  LONGS_EQUAL(128 + SIGINT, weft.ExitCode());
  for (const ForeignProcess& child : children) CHECK_TEXT(child.Ends(), child.command().c_str());
  CHECK_FALSE(std::filesystem::exists(scratch));
  LONGS_EQUAL(0, Left());
}

}  // namespace weft::apps
