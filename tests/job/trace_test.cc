// SPDX-License-Identifier: Apache-2.0
// The files in which a device of a job leaves what it measured: a timeline and a cost profile.
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "apps/profile/profile_file.h"
#include "sched/strategy.h"
#include "tests/edge/child_process.h"
#include "tests/files/scratch_folder.h"
#include "tests/job/lenet_job.h"
#include "tests/mqtt/broker.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

using nlohmann::json;

struct Event {
  std::string lane;
  std::string name;
  double begin_us = 0;
  double end_us = 0;
  int round = 0;
  int first_unit = 0;
};

// By track, the events of each in order of time.
std::map<std::string, std::vector<Event>> ReadTrace(const std::string& path) {
  const json root = json::parse(ReadAll(path));
  std::map<int, std::string> tracks;
  std::map<std::pair<int, int>, std::string> lanes;
  std::map<std::string, std::vector<Event>> events;
  for (const json& event : root["traceEvents"]) {
    const int process = event["pid"];
    if (event["name"] == "process_name") tracks[process] = event["args"]["name"];
    if (event["name"] == "thread_name") lanes[{process, event["tid"]}] = event["args"]["name"];
    if (event["ph"] != "X") continue;
    const double begin = event["ts"];
    events[tracks[process]].push_back({.lane = lanes[{process, event["tid"]}],
                                       .name = event["name"],
                                       .begin_us = begin,
                                       .end_us = begin + event["dur"].get<double>(),
                                       .round = event["args"]["round"],
                                       .first_unit = event["args"]["first_unit"]});
  }
  const auto times = [](const Event& event) { return std::pair(event.begin_us, event.end_us); };
  for (auto& [name, track] : events) std::ranges::sort(track, {}, times);
  return events;
}

std::set<std::string> LanesOf(const std::vector<Event>& events) {
  std::set<std::string> lanes;
  for (const Event& event : events) lanes.insert(event.lane);
  return lanes;
}

// Nothing in a lane begins before what was there has ended; a nanosecond is what doubles leave.
void CheckLanesDoNotOverlap(const std::vector<Event>& events) {
  std::map<std::string, double> ends;
  for (const Event& event : events) {
    if (event.begin_us < ends[event.lane] - 0.002) {
      FAIL((event.lane + ": " + event.name + " begins " +
            std::to_string(ends[event.lane] - event.begin_us) + " us too early")
               .c_str());
    }
    ends[event.lane] = event.end_us;
  }
}

}  // namespace

TEST_GROUP(Trace) {
  ScratchFolder folder;
  net::Broker broker;
  LenetJob job{.workers = 1, .rounds = 20, .batch = 16};

  // A job by `strategy`, in messages that are small enough to show what the link costs; the
  // worker's lines.
  std::vector<json> Run(const std::string& strategy, const std::vector<std::string>& more,
                        int exit_code = 0) {
    ChildProcess server(PsCommand(
        job.PsArguments(broker.port(), folder.Path("state"),
                        {"--strategy", strategy, "--replan-every", "1000", "--segment", "8KiB"})));
    std::vector<std::string> all = {"--json"};
    all.insert(all.end(), more.begin(), more.end());
    ChildProcess worker(EdgeCommand(job.EdgeArguments(broker.port(), 0, all)));
    std::vector<json> lines;
    while (const std::optional<std::string> line = worker.NextLine()) {
      lines.push_back(json::parse(*line));
    }
    LONGS_EQUAL(exit_code, worker.Wait());
    LONGS_EQUAL(0, server.Wait());
    return lines;
  }
};

TEST(Trace, ShowsTheRoundsAsTheyWentAndAsPredictedWithPlansInTheIdleWindow) {
  const std::string path = folder.Path("trace.json");
  const std::vector<json> lines = Run("dynacomm", {"--trace", path});
  LONGS_EQUAL(job.rounds + 1, lines.size());
  CHECK_TRUE(lines[15]["planned"]);  // an epoch is 16 rounds of 16 images

  auto tracks = ReadTrace(path);
  const std::vector<Event>& went = tracks["w0 dynacomm as it went"];
  CHECK((LanesOf(went) == std::set<std::string>{"compute", "planner", "pull", "push"}));
  CheckLanesDoNotOverlap(went);
  std::vector<const Event*> computing;
  for (const Event& event : went) {
    if (event.lane == "compute") computing.push_back(&event);
  }
  for (const Event& plan : went) {
    if (plan.lane != "planner") continue;
    const auto after = std::ranges::find_if(
        computing, [&](const Event* each) { return each->begin_us >= plan.begin_us; });
    CHECK(after != computing.begin());
    const Event& before = **(after - 1);
    CHECK(before.end_us <= plan.begin_us + 0.002);
    CHECK_TRUE(before.name.starts_with("backward"));
    LONGS_EQUAL(1, before.first_unit);
    if (after == computing.end()) continue;
    CHECK(plan.end_us <= (*after)->begin_us + 0.002);
    CHECK_TRUE((*after)->name.starts_with("forward"));
    LONGS_EQUAL(1, (*after)->first_unit);
  }

  // Each from where its round begins: where the backward before it ends.
  std::set<int> predicted;
  for (const char* rounds : {"even", "odd"}) {
    const std::vector<Event>& track =
        tracks["w0 dynacomm as predicted, " + std::string(rounds) + " rounds"];
    CHECK((LanesOf(track) == std::set<std::string>{"compute", "pull", "push"}));
    CheckLanesDoNotOverlap(track);
    for (const Event& event : track) {
      if (event.name.starts_with("backward")) predicted.insert(event.round);
      const auto begin = std::ranges::find_if(computing, [&](const Event* each) {
        return each->round == event.round - 1 && each->name.starts_with("backward") &&
               each->first_unit == 1;
      });
      if (event.lane == "compute") CHECK(event.begin_us >= (*begin)->end_us);
    }
  }
  CHECK(predicted.size() >= 10);  // all but the first ones
  CHECK(predicted.contains(job.rounds - 1));
}

// Computing takes a few milliseconds a unit, as on a board: time enough for a plan.
TEST(Trace, ShowsWhenWeavePlannedAndLeavesAProfileThatCanBePlannedWith) {
  std::string units;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    units += (units.empty() ? "" : ",") + std::string(R"({"name":")") + name +
             R"(","forward_ns":3000000,"backward_ns":6000000,"pull_ns":1,"push_ns":1})";
  }
  const std::string replay = folder.Path("replay.json");
  WriteAll(replay,
           R"({"pull_overhead_ns":0,"push_overhead_ns":0,"latency_ns":0,"units":[)" + units + "]}");
  const std::string path = folder.Path("trace.json");
  const std::string measured = folder.Path("profile.json");
  Run("weave", {"--compute", "replay:" + replay, "--trace", path, "--profile-out", measured});
  const Result<sched::CostProfile> profile = ReadProfileFile(measured);
  CHECK_TRUE(profile.ok());
  LONGS_EQUAL(5, profile->unit_count());
  CHECK(profile->units[0].backward_ns >= 6'000'000);
  for (const sched::Strategy strategy : sched::AllStrategies()) {
    CHECK_TRUE(sched::PlanIteration(strategy, *profile).ok());
  }
  auto tracks = ReadTrace(path);
  std::set<std::string> lanes = LanesOf(tracks["w0 weave as it went"]);
  if (WEFT_EMULATED) lanes.insert("planner");  // a plan can take an emulator longer than the job
  CHECK((lanes == std::set<std::string>{"compute", "planner", "pull", "push"}));
}

TEST(Trace, ADiskThatTakesNoTraceCostsNoModel) {
  job.rounds = 6;
  const std::string expected = job.ExpectedHash();
  const std::string weights = folder.Path("model.safetensors");
  for (const char* flag : {"--trace", "--profile-out"}) {
    std::filesystem::remove_all(folder.Path("state"));
    const std::vector<json> lines = Run("dynacomm", {flag, "/dev/full", "--save", weights}, 1);
    LONGS_EQUAL(job.rounds + 1, lines.size());
    STRCMP_EQUAL(expected.c_str(), lines.back()["model_hash"].get<std::string>().c_str());
    CHECK_TRUE(std::filesystem::remove(weights));
  }
}

}  // namespace weft::apps
