// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/strategy_result.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

// Which rounds count, as letters: a plan is made where there is a 'p'.
std::string Counted(const std::string& strategy, const std::string& rounds) {
  WarmUp warm_up(strategy);
  std::string counted;
  for (const char c : rounds) {
    counted += warm_up.Over(WorkerRound{.planned = c == 'p'}) ? '+' : '-';
  }
  return counted;
}

WorkerRound Round(double total_ms) {
  return {.total_ms = total_ms, .compute_ms = 1, .overlap_ms = 2, .wait_ms = total_ms - 3};
}

}  // namespace

TEST_GROUP(StrategyResult) { const MachineFacts idle{.idle_share = 0.5}; };

TEST(StrategyResult, QuartilesAreNumpys) {
  // numpy.percentile([9, 1, 4, 2], [25, 50, 75])
  const Spread four = SpreadOf({9, 1, 4, 2});
  DOUBLES_EQUAL(1.75, four.lower, 1e-12);
  DOUBLES_EQUAL(3, four.median, 1e-12);
  DOUBLES_EQUAL(5.25, four.upper, 1e-12);
  const Spread one = SpreadOf({7});
  DOUBLES_EQUAL(7, one.lower, 0);
  DOUBLES_EQUAL(7, one.upper, 0);
}

TEST(StrategyResult, TheFirstThreeRoundsDoNotCount) {
  STRCMP_EQUAL("---+++", Counted("sequential", "......").c_str());
  STRCMP_EQUAL("---+++", Counted("lbl", "......").c_str());
}

TEST(StrategyResult, NorDoThoseBeforeTheFirstPlanIsInForce) {
  STRCMP_EQUAL("------", Counted("weave", "......").c_str());
  STRCMP_EQUAL("-----++++", Counted("dynacomm", "...pp....").c_str());
  STRCMP_EQUAL("---+++", Counted("dynacomm", "p.....").c_str());
  STRCMP_EQUAL("-----+++++", Counted("weave", "...p...p..").c_str());  // a later one is part of it
}

TEST(StrategyResult, TheFirstWorkerTellsTheTimeAndAllTellWhatTheyDid) {
  std::vector<WorkerRound> first = {Round(10), Round(30), Round(20)};
  for (WorkerRound& round : first) {
    round.predicted_ms = 19;
    round.bound_ms = 15;
    round.segments_up = 4;
    round.bytes_up = 1000;
    round.mbps_up = 95;
    round.delta_up_us = 800;
  }
  const std::vector<WorkerRound> second = {Round(100), Round(100), Round(100)};
  const StrategyResult result = Summarise("weave", {first, second}, idle, "ab");
  STRCMP_EQUAL("", result.invalid.c_str());
  LONGLONGS_EQUAL(3, result.rounds);
  DOUBLES_EQUAL(20, result.iteration_ms.median, 1e-12);
  DOUBLES_EQUAL(15, result.iteration_ms.lower, 1e-12);
  DOUBLES_EQUAL(1, result.computing_ms, 1e-12);
  DOUBLES_EQUAL(2, result.overlapping_ms, 1e-12);
  DOUBLES_EQUAL((60 + 300) / 6.0 - 3, result.waiting_ms, 1e-12);
  DOUBLES_EQUAL(19, *result.predicted_ms, 0);
  DOUBLES_EQUAL(15, *result.bound_ms, 0);
  DOUBLES_EQUAL(4, *result.segments_up, 0);
  DOUBLES_EQUAL(1000, *result.bytes_up, 0);
  DOUBLES_EQUAL(95, *result.mbps_up, 0);
  DOUBLES_EQUAL(800, *result.delta_up_us, 0);
  CHECK_FALSE(result.segments_down || result.mbps_down);
  STRCMP_EQUAL("ab", result.model_hash.c_str());
}

TEST(StrategyResult, TooFewRoundsAreNoResult) {
  const StrategyResult result = Summarise("weave", {{Round(10), Round(10)}}, idle, "ab");
  STRCMP_EQUAL("only 2 rounds were left after the plan was made; give more --rounds",
               result.invalid.c_str());
}

TEST(StrategyResult, WhatTheMachineDidNotDoInTimeMakesItInvalid) {
  const std::vector<std::vector<WorkerRound>> rounds = {{Round(10), Round(10), Round(10)}};
  STRCMP_EQUAL("the processors were idle for 4.0 % of the time only",
               Summarise("weave", rounds, {.idle_share = 0.04}, "ab").invalid.c_str());
}

TEST(StrategyResult, TheWorkerWhoseReplayWasLatestTellsByHowMuch) {
  std::vector<std::vector<WorkerRound>> rounds(2, {Round(100), Round(100), Round(100)});
  CHECK_FALSE(Summarise("weave", rounds, idle, "ab").machine.replay_late_share.has_value());
  for (std::vector<WorkerRound>& worker : rounds) {
    for (WorkerRound& round : worker) round.late_ms = 1;
  }
  STRCMP_EQUAL("", Summarise("weave", rounds, idle, "ab").invalid.c_str());
  rounds[1][2].late_ms = 7;
  const StrategyResult result = Summarise("weave", rounds, idle, "ab");
  DOUBLES_EQUAL(0.03, *result.machine.replay_late_share, 1e-12);
  STRCMP_EQUAL("a worker's replayed units took 3.0 % of the time longer than they were to",
               result.invalid.c_str());
}

}  // namespace weft::apps
