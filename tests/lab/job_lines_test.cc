// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/job_lines.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {

TEST_GROUP(JobLines){};

TEST(JobLines, AWorkersRoundHasWhatItSaysAndNothingElse) {
  const auto line = ParseWorkerLine(
      R"({"step":7,"round":6,"loss":0.5,"images_per_s":120.5,"total_ms":40,"compute_ms":10,)"
      R"("overlap_ms":5,"wait_ms":25,"segments_up":3,"bytes_up":1000,"predicted_ms":39.5,)"
      R"("late_ms":0.25,"bound_ms":30,"delta_up_us":812.5,"mbps_up":95.5,"planned":true,"strategy":"weave",)"
      R"("compute":"replay"})");
  const auto& round = std::get<WorkerRound>(*line);
  LONGLONGS_EQUAL(7, round.round);
  DOUBLES_EQUAL(0.5, *round.loss, 0);
  DOUBLES_EQUAL(120.5, *round.images_per_s, 0);
  DOUBLES_EQUAL(40, *round.total_ms, 0);
  LONGLONGS_EQUAL(3, *round.segments_up);
  LONGLONGS_EQUAL(1000, *round.bytes_up);
  DOUBLES_EQUAL(39.5, *round.predicted_ms, 0);
  DOUBLES_EQUAL(30, *round.bound_ms, 0);
  DOUBLES_EQUAL(0.25, *round.late_ms, 0);
  DOUBLES_EQUAL(812.5, *round.delta_up_us, 0);
  DOUBLES_EQUAL(95.5, *round.mbps_up, 0);
  CHECK_TRUE(round.planned);
  STRCMP_EQUAL("weave", round.strategy.c_str());
  STRCMP_EQUAL("replay", round.compute.c_str());
  CHECK_FALSE(round.segments_down || round.bytes_down || round.mbps_down || round.latency_ms);
}

TEST(JobLines, SharesAddUpToOne) {
  const auto line = ParseWorkerLine(R"({"step":1,"compute_ms":10,"overlap_ms":5,"wait_ms":25})");
  const TimeShares shares = *SharesOf(std::get<WorkerRound>(*line));
  DOUBLES_EQUAL(0.25, shares.computing, 1e-12);
  DOUBLES_EQUAL(0.125, shares.overlapping, 1e-12);
  DOUBLES_EQUAL(0.625, shares.waiting, 1e-12);
  CHECK_FALSE(SharesOf(WorkerRound{.round = 1}).has_value());
}

TEST(JobLines, AWorkersLastWordHasTheModelAndPerhapsTheAccuracy) {
  const auto tested = ParseWorkerLine(R"({"final":true,"model_hash":"ab","top1":0.75})");
  STRCMP_EQUAL("ab", std::get<WorkerEnd>(*tested).model_hash.c_str());
  DOUBLES_EQUAL(0.75, *std::get<WorkerEnd>(*tested).top1, 0);
  const auto untested = ParseWorkerLine(R"({"final":true,"model_hash":"ab","top1":null})");
  CHECK_FALSE(std::get<WorkerEnd>(*untested).top1.has_value());
}

TEST(JobLines, AServerTellsRoundsAndAnEnd) {
  const auto line =
      ParseServerLine(R"({"round":3,"workers":2,"bytes_taken":500,"disk_wait_ns":70,"refused":0})");
  const auto& round = std::get<ServerRound>(*line);
  LONGLONGS_EQUAL(3, round.round);
  LONGLONGS_EQUAL(2, *round.workers);
  LONGLONGS_EQUAL(500, *round.bytes_taken);
  LONGLONGS_EQUAL(70, *round.disk_wait_ns);
  CHECK_FALSE(round.segments_taken.has_value());
  const auto end = ParseServerLine(R"({"final":true,"model_hash":"cd"})");
  STRCMP_EQUAL("cd", std::get<ServerEnd>(*end).model_hash.c_str());
}

TEST(JobLines, OtherObjectsAreNoRoundAndOtherTextIsRefused) {
  CHECK_TRUE(std::holds_alternative<std::monostate>(*ParseWorkerLine(R"({"step":"one"})")));
  CHECK_TRUE(std::holds_alternative<std::monostate>(*ParseServerLine("{}")));
  for (const char* text : {"", "[1]", "7", "{", "Segmentation fault"}) {
    CHECK_FALSE(ParseWorkerLine(text).ok());
    CHECK_FALSE(ParseServerLine(text).ok());
  }
}

}  // namespace weft::apps
