// SPDX-License-Identifier: Apache-2.0
// What a lab has found, for people, for programs and for gnuplot. Pure: numbers in, text out.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "apps/lab/strategy_result.h"
#include "core/status.h"

namespace weft::apps {

// What was measured.
struct LabFacts {
  std::string model;
  int workers = 1;
  int shards = 1;
  int batch = 32;
  double mbps = 0;
  double rtt_ms = 0;
  double jitter_ms = 0;
  double loss_percent = 0;
  double queue_kb = 0;  // 0: as links have by themselves
  std::string script;
  int64_t rounds = 30;
  std::string compute = "real";    // or replay:FILE
  std::string congestion_control;  // of TCP, as the lab found it
};

std::string FactsText(const LabFacts& facts);  // one line

// "weave: 46.1 ms an iteration"
std::string ResultLine(const StrategyResult& result);
// A table, with the reasons of what is invalid below.
std::string ResultsText(const std::vector<StrategyResult>& results);

// Without figures for one that is invalid.
nlohmann::json ResultJson(const StrategyResult& result, const LabFacts& facts);
nlohmann::json SummaryJson(const std::vector<StrategyResult>& results, const LabFacts& facts);

// Stacked bars of an iteration's time, with the prediction and the bound as marks. Fails as
// PlotTerminal does.
Result<std::string> LabPlotScript(const std::string& path,
                                  const std::vector<StrategyResult>& results,
                                  const LabFacts& facts);

// All strategies are the same training, so their models are. Unavailable, with the differing
// hashes, if they are not.
Status CheckSameModel(const std::vector<StrategyResult>& results);

}  // namespace weft::apps
