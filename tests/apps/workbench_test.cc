// SPDX-License-Identifier: Apache-2.0
#include "apps/weft/workbench.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/weft/plot.h"
#include "sched/dynacomm.h"
#include "tests/apps/typed.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

using nlohmann::json;

const char kProfile[] = R"({
  "units": [
    {"name": "a", "forward_ns": 500, "backward_ns": 700, "pull_ns": 200, "push_ns": 300},
    {"name": "b", "forward_ns": 100, "backward_ns": 200, "pull_ns": 400, "push_ns": 600},
    {"name": "c", "forward_ns": 300, "backward_ns": 400, "pull_ns": 100, "push_ns": 800}],
  "pull_overhead_ns": 100, "push_overhead_ns": 50, "latency_ns": 1000})";

}  // namespace

// A file in a folder of its own that goes away with the test.
TEST_GROUP(Workbench) {
  std::string folder;
  void setup() override {
    char name[] = "/tmp/weft-test-XXXXXX";
    folder = mkdtemp(name);
    setenv("XDG_CACHE_HOME", "/dev/null", 1);  // times measured here are kept nowhere
  }
  void teardown() override {
    for (const char* file : {"profile.json", "run.svg", "run.json"}) {
      std::remove((folder + "/" + file).c_str());
    }
    rmdir(folder.c_str());
  }
  std::string Write(const char* text) {
    const std::string path = folder + "/profile.json";
    std::ofstream(path) << text;
    return path;
  }
};

TEST(Workbench, ListsTheZoo) {
  const Typed typed = Type({"model"});
  LONGS_EQUAL(kExitOk, typed.exit_code);
  STRCMP_CONTAINS("inception_v4", typed.out.c_str());
  STRCMP_CONTAINS("42,679,816", typed.out.c_str());
  const json listing = json::parse(Type({"model", "--json"}).out);
  LONGS_EQUAL(14, listing["models"].size());
}

TEST(Workbench, ShowsAModelAsOneJsonObject) {
  const Typed typed = Type({"model", "vgg19", "--json"});
  LONGS_EQUAL(kExitOk, typed.exit_code);
  STRCMP_EQUAL("", typed.err.c_str());
  const json model = json::parse(typed.out);
  STRCMP_EQUAL("vgg19", model["name"].get<std::string>().c_str());
  LONGLONGS_EQUAL(143'667'240, model["parameters"].get<int64_t>());
  LONGLONGS_EQUAL(19'632'062'464, model["macs"].get<int64_t>());
  LONGS_EQUAL(19, model["units"].size());
  LONGLONGS_EQUAL(411'058'176, model["units"][16]["bytes"].get<int64_t>());  // fc6
}

TEST(Workbench, CountsMultiplyAddsForTheBatch) {
  const json one = json::parse(Type({"model", "lenet5", "--json"}).out);
  const json many = json::parse(Type({"model", "lenet5", "--batch", "64", "--json"}).out);
  LONGLONGS_EQUAL(64 * one["macs"].get<int64_t>(), many["macs"].get<int64_t>());
  LONGLONGS_EQUAL(one["parameters"].get<int64_t>(), many["parameters"].get<int64_t>());
}

TEST(Workbench, PlansTheMemoryOfTraining) {
  const json model = json::parse(Type({"model", "resnet18", "--batch", "4", "--json"}).out);
  const json& rows = model["memory"];
  CHECK_TRUE(rows.size() >= 2);
  LONGLONGS_EQUAL(4 * 11'689'512, rows[0]["optimizer_bytes"].get<int64_t>());
  for (size_t i = 1; i < rows.size(); ++i) {
    CHECK_TRUE(rows[i]["activations_bytes"] < rows[i - 1]["activations_bytes"]);
    CHECK_TRUE(rows[i]["computed_again"] > rows[i - 1]["computed_again"]);
  }
  const Typed typed = Type({"model", "lenet5", "--batch", "8"});
  STRCMP_CONTAINS("--memory-budget", typed.out.c_str());
  STRCMP_CONTAINS("none", typed.out.c_str());
}

TEST(Workbench, TimesEveryKernelOfAModel) {
  const json bench =
      json::parse(Type({"bench", "kernels", "--model", "lenet5", "--batch", "1", "--json"}).out);
  STRCMP_EQUAL("lenet5", bench["model"].get<std::string>().c_str());
  LONGS_EQUAL(18, bench["ops"].size());  // 5 layers by 3, 2 by 2, less the image's gradient
  for (const json& op : bench["ops"]) {
    int64_t last = 0;
    for (const json& kernel : op["kernels"]) {
      CHECK_TRUE(kernel["ns"].get<int64_t>() >= last);
      last = kernel["ns"].get<int64_t>();
    }
    CHECK_TRUE(last > 0);
  }
}

TEST(Workbench, PlansAProfileByOneStrategy) {
  const Typed typed =
      Type({"plan", "--profile", Write(kProfile), "--strategy", "sequential", "--json"});
  LONGS_EQUAL(kExitOk, typed.exit_code);
  const json plan = json::parse(typed.out);
  CHECK(json({0, 3}) == plan["forward"]["cuts"]);
  CHECK(json({4, 1}) == plan["backward"]["cuts"]);
  LONGLONGS_EQUAL(100 + 700 + 900, plan["forward"]["ns"].get<int64_t>());
  LONGLONGS_EQUAL(1300 + 50 + 1700, plan["backward"]["ns"].get<int64_t>());
  LONGLONGS_EQUAL(1700 + 3050 + 1000, plan["iteration_ns"].get<int64_t>());
}

TEST(Workbench, PlansByAllStrategiesAndDynacommIsTheBestOfThePapers) {
  const json answer = json::parse(Type({"plan", "--profile", Write(kProfile), "--json"}).out);
  LONGS_EQUAL(5, answer["plans"].size());
  std::map<std::string, int64_t> times;
  for (const json& plan : answer["plans"]) times[plan["strategy"]] = plan["iteration_ns"];
  for (const char* other : {"sequential", "lbl", "ibatch"}) {
    CHECK_TRUE(times["dynacomm"] <= times[other]);
  }
  CHECK_TRUE(times["weave"] <= times["dynacomm"]);
}

TEST(Workbench, DrawsThePlansForPeople) {
  const Typed typed = Type({"plan", "--profile", Write(kProfile)});
  LONGS_EQUAL(kExitOk, typed.exit_code);
  for (const char* expected : {"sequential", "dynacomm", "bound", "pull", "compute", "push", "█"}) {
    STRCMP_CONTAINS(expected, typed.out.c_str());
  }
}

TEST(Workbench, RefusesBadProfilesInOneLine) {
  const struct {
    const char* text;
    const char* expected;
  } cases[] = {{"{", "not JSON"},
               {"{}", "units is missing"},
               {R"({"units":[]})", "pull_overhead_ns is missing"},
               {R"({"units":[{}]})", "units[0].name is missing"}};
  for (const auto& [text, expected] : cases) {
    const Typed typed = Type({"plan", "--profile", Write(text), "--json"});
    CHECK_TRUE(IsOneLineRefusal(typed));
    STRCMP_CONTAINS(expected, typed.err.c_str());
    STRCMP_CONTAINS("profile.json", typed.err.c_str());
  }
}

TEST(Workbench, RefusesWhatWasMistypedInOneLine) {
  const std::string profile = Write(kProfile);
  const std::vector<std::string> mistakes[] = {
      {"modle"},
      {"model", "resnet17"},
      {"model", "lenet5", "--batch", "0"},
      {"model", "lenet5", "--batch", "many"},
      {"plan"},
      {"plan", "--profile"},
      {"plan", "--profile", "/nowhere.json"},
      {"plan", "--profile", profile, "--strategy", "best"},
      {"plan", "--profile", profile, "--strategy", ""},
      {"sim"},
      {"sim", "--models", "vgg19,,"},
      {"sim", "--models", "lenet5", "--gflops", "0"},
      {"sim", "--models", "lenet5", "--mbps", "-1"},
      {"sim", "--models", "lenet5", "--mbps", "nan"},
      {"sim", "--models", "lenet5", "--overhead-ms", "inf"},
      {"sim", "--models", "lenet5", "--workers", "1000000000"},
      {"sim", "--models", "lenet5", "--broker-hop", "maybe"},
      {"sim", "--models", "lenet5", "--strategies", "weave,fast"},
      {"sim", "--models", "lenet5", "--plot", folder + "/run.gif"},
      {"sim", "--models", "vgg19", "--gflops", "0.0000001", "--batch", "65536"},
      {"bench"},
      {"bench", "gpu"},
      {"--loud"},
  };
  for (const std::vector<std::string>& arguments : mistakes) {
    const Typed typed = Type(arguments);
    if (!IsOneLineRefusal(typed)) {
      std::string line = "weft";
      for (const std::string& argument : arguments) line += " " + argument;
      FAIL((line + " -> " + std::to_string(typed.exit_code) + " " + typed.err).c_str());
    }
  }
}

TEST(Workbench, AFileThatCannotBeWrittenIsAFailureNotAMistake) {
  const Typed typed = Type({"sim", "--models", "lenet5", "--trace", "/nowhere/trace.json"});
  LONGS_EQUAL(kExitFailure, typed.exit_code);
  STRCMP_CONTAINS("/nowhere/trace.json", typed.err.c_str());
}

TEST(Workbench, SimulatesModelsAsOneJsonObject) {
  const Typed typed =
      Type({"sim", "--models", "vgg19,lenet5", "--batch", "32", "--gflops", "150", "--mbps", "100",
            "--overhead-ms", "5", "--rtt-ms", "10", "--backward-ratio", "2", "--json"});
  LONGS_EQUAL(kExitOk, typed.exit_code);
  const json answer = json::parse(typed.out);
  const json& vgg = answer["models"]["vgg19"];
  LONGS_EQUAL(19, vgg["units"].get<int>());
  LONGS_EQUAL(5, vgg["strategies"].size());
  for (const char* name : {"sequential", "lbl", "ibatch", "dynacomm"}) {
    const json& s = vgg["strategies"][name];
    LONGLONGS_EQUAL(s["forward_ns"].get<int64_t>() + s["backward_ns"].get<int64_t>() + 10'000'000,
                    s["iteration_ns"].get<int64_t>());
    CHECK_TRUE(vgg["bound_ns"].get<int64_t>() <= s["iteration_ns"].get<int64_t>());
  }
  const double weave = vgg["strategies"]["weave"]["iteration_ns"].get<double>();
  CHECK_TRUE(vgg["bound_ns"].get<double>() >= 0.95 * weave);
}

TEST(Workbench, AHopMakesNothingFaster) {
  const auto times = [](const char* hop) {
    const Typed typed = Type({"sim", "--models", "resnet18", "--workers", "4", "--broker-hop", hop,
                              "--broker-mbps", "400", "--json"});
    return json::parse(typed.out)["models"]["resnet18"]["strategies"];
  };
  const json without = times("off");
  const json with = times("on");
  for (const auto& [name, strategy] : without.items()) {
    CHECK_TRUE(strategy["iteration_ns"] < with[name]["iteration_ns"]);
  }
}

TEST(Workbench, WritesATraceWithThreeLanesPerStrategy) {
  const std::string path = folder + "/run.json";
  const Typed typed = Type({"sim", "--models", "lenet5", "--strategies", "lbl,weave", "--rounds",
                            "3", "--trace", path, "--json"});
  LONGS_EQUAL(kExitOk, typed.exit_code);
  std::ifstream file(path);
  const json trace = json::parse(file);
  std::map<std::string, int> events;
  int processes = 0;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") ++events[event["cat"]];
    if (event["name"] == "process_name") ++processes;
  }
  LONGS_EQUAL(2, processes);
  for (const char* lane : {"forward", "backward", "push", "pull"}) CHECK_TRUE(events[lane] >= 6);
}

TEST(Workbench, ThePlotScriptStacksEveryStrategyAndTheBound) {
  const PlotModel model{.name = "it's",
                        .bars = {{"lbl", {1, 2, 3}, {4, 5, 6}, {5, 7, 9}}},
                        .forward_unit_ns = 10,
                        .backward_unit_ns = 10,
                        .iteration_unit_ns = 20,
                        .bound_ns = 5};
  const std::string script = PlotScript("a.svg", "title", {model}).value();
  STRCMP_CONTAINS("\"lbl\" 0.100000 0.200000 0.300000 0\n", script.c_str());
  STRCMP_CONTAINS("\"bound\" 0 0 0 0.250000\n", script.c_str());
  STRCMP_CONTAINS("'it''s, forward'", script.c_str());
  CHECK_FALSE(PlotScript("a.gif", "title", {model}).ok());
}

TEST(Workbench, HelpAndVersionAreNoErrors) {
  LONGS_EQUAL(kExitOk, Type({"--help"}).exit_code);
  STRCMP_CONTAINS("sim", Type({"--help"}).out.c_str());
  STRCMP_CONTAINS("--mbps", Type({"sim", "--help"}).out.c_str());
  STRCMP_CONTAINS("weft 0.", Type({"--version"}).out.c_str());
  LONGS_EQUAL(kExitOk, Type({}).exit_code);
}

TEST(Workbench, VerboseTalksOnStderrOnly) {
  const Typed typed = Type({"-v", "sim", "--models", "lenet5", "--json"});
  STRCMP_CONTAINS("events simulated", typed.err.c_str());
  CHECK_TRUE(json::accept(typed.out));
}

}  // namespace weft::apps
