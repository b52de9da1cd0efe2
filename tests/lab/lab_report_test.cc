// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/lab_report.h"

#include <nlohmann/json.hpp>

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

using nlohmann::json;

StrategyResult Sequential() {
  return {.strategy = "sequential",
          .rounds = 12,
          .iteration_ms = {.lower = 99, .median = 100, .upper = 102},
          .computing_ms = 20,
          .overlapping_ms = 0,
          .waiting_ms = 80,
          .predicted_ms = 96,
          .bound_ms = 40,
          .segments_up = 1,
          .segments_down = 1,
          .bytes_up = 246'824,
          .bytes_down = 246'824,
          .delta_up_us = 812,
          .delta_down_us = 640,
          .mbps_up = 95.12,
          .mbps_down = 95.34,
          .model_hash = "ab"};
}

StrategyResult Weave() {
  StrategyResult result = Sequential();
  result.strategy = "weave";
  result.iteration_ms = {.lower = 48, .median = 50, .upper = 51};
  result.predicted_ms = 50;
  result.segments_up = 7;
  result.counted = {{.round = 4, .total_ms = 51}};
  return result;
}

}  // namespace

TEST_GROUP(LabReport) {
  std::vector<StrategyResult> results = {Sequential(), Weave()};
  LabFacts facts{.model = "lenet5",
                 .workers = 2,
                 .mbps = 100,
                 .rtt_ms = 10,
                 .rounds = 15,
                 .congestion_control = "cubic"};
};

TEST(LabReport, TheTableComparesWithSequentialTheBoundAndThePrediction) {
  STRCMP_EQUAL(
      "strategy    iteration        middle half  predicted     off    bound  of bound   saved  "
      "segments  delta us       Mb/s  bytes up/down\n"
      "----------------------------------------------------------------------------------------"
      "--------------------------------------------\n"
      "sequential     100 ms   99.0 ms - 102 ms    96.0 ms  +4.2 %  40.0 ms    40.0 %   0.0 %  "
      "     1/1   812/640  95.1/95.3  247 kB/247 kB\n"
      "weave         50.0 ms  48.0 ms - 51.0 ms    50.0 ms  +0.0 %  40.0 ms    80.0 %  50.0 %  "
      "     7/1   812/640  95.1/95.3  247 kB/247 kB\n",
      ResultsText(results).c_str());
}

TEST(LabReport, WhatIsInvalidHasNoFiguresButAReason) {
  results[1].invalid = "the machine slept";
  const std::string text = ResultsText(results);
  STRCMP_CONTAINS("\nweave         invalid\n", text.c_str());
  STRCMP_CONTAINS("\nweave: invalid: the machine slept\n", text.c_str());
  const json object = ResultJson(results[1], facts);
  CHECK_FALSE(object["valid"].get<bool>());
  STRCMP_EQUAL("the machine slept", object["invalid"].get<std::string>().c_str());
  CHECK_FALSE(object.contains("iteration_ms"));
  const json summary = SummaryJson(results, facts);
  CHECK_FALSE(summary["iteration_ms"].contains("weave"));
  DOUBLES_EQUAL(100, summary["iteration_ms"]["sequential"].get<double>(), 0);
}

TEST(LabReport, WithoutAValidSequentialNothingIsSaid) {
  results[0].invalid = "late";
  CHECK_TRUE(ResultsText(results).find("50.0 %") == std::string::npos);
  CHECK_TRUE(SummaryJson(results, facts)["saved_percent"].empty());
}

TEST(LabReport, ProgramsGetEveryFigure) {
  const json object = ResultJson(results[1], facts);
  CHECK_TRUE(object["valid"].get<bool>());
  STRCMP_EQUAL("real", object["compute"].get<std::string>().c_str());
  DOUBLES_EQUAL(50, object["iteration_ms"].get<double>(), 0);
  DOUBLES_EQUAL(80, object["of_bound_percent"].get<double>(), 1e-9);
  DOUBLES_EQUAL(7, object["segments_up"].get<double>(), 0);
  LONGS_EQUAL(4, object["rounds"][0]["round"].get<int>());
  DOUBLES_EQUAL(51, object["rounds"][0]["iteration_ms"].get<double>(), 0);
  CHECK_TRUE(object["rounds"][0]["predicted_ms"].is_null());
  const json summary = SummaryJson(results, facts);
  CHECK_TRUE(summary["summary"].get<bool>());
  CHECK_TRUE(summary["same_model"].get<bool>());
  STRCMP_EQUAL("ab", summary["model_hash"].get<std::string>().c_str());
  DOUBLES_EQUAL(50, summary["saved_percent"]["weave"].get<double>(), 1e-9);
  STRCMP_EQUAL("cubic", summary["tcp_congestion_control"].get<std::string>().c_str());
  LONGS_EQUAL(0, summary["tcp_slow_start_after_idle"].get<int>());
}

TEST(LabReport, WhatIsNotKnownIsADashAndNull) {
  results[1].predicted_ms.reset();
  results[1].delta_down_us.reset();
  STRCMP_CONTAINS("812/-", ResultsText(results).c_str());
  CHECK_TRUE(ResultJson(results[1], facts)["predicted_ms"].is_null());
}

TEST(LabReport, EveryHeadlineSaysWhichComputeWasUsed) {
  STRCMP_EQUAL("lenet5, 2 workers, batch 32, 100 Mb/s each way, RTT 10 ms, real compute, 15 rounds",
               FactsText(facts).c_str());
  facts.compute = "replay:pi.json";
  facts.shards = 2;
  facts.workers = 1;
  facts.jitter_ms = 2;
  facts.loss_percent = 0.5;
  facts.queue_kb = 64;
  facts.script = "storm.txt";
  STRCMP_EQUAL(
      "lenet5, 1 worker, 2 servers, batch 32, 100 Mb/s each way, RTT 10 ms, jitter 2 ms, 0.5 % "
      "lost, queue 64 KB, changed by storm.txt, compute replay:pi.json, 15 rounds",
      FactsText(facts).c_str());
  STRCMP_EQUAL("replay:pi.json",
               ResultJson(results[0], facts)["compute"].get<std::string>().c_str());
}

TEST(LabReport, DifferentModelsAreAFailure) {
  CHECK_TRUE(CheckSameModel(results).ok());
  results[1].model_hash = "cd";
  STRCMP_EQUAL("the strategies did not end with the same model: sequential has ab, weave has cd",
               CheckSameModel(results).message().c_str());
  CHECK_FALSE(SummaryJson(results, facts)["same_model"].get<bool>());
}

TEST(LabReport, ThePlotStacksWhatWasMeasuredAndMarksWhatWasNot) {
  facts.script = "it's";
  results[0].invalid = "late";
  const std::string script = LabPlotScript("a.svg", results, facts).value();
  STRCMP_CONTAINS("\"sequential (invalid)\" 0 0 0 NaN NaN \"\"\n", script.c_str());
  STRCMP_CONTAINS("\"weave\" 20.000000 0.000000 80.000000 50.000000 40.000000 \"50.0 ms\"\n",
                  script.c_str());
  STRCMP_CONTAINS("changed by it''s", script.c_str());
  CHECK_FALSE(LabPlotScript("a.gif", results, facts).ok());
}

}  // namespace weft::apps
