// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/lab_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/lab/lab_network.h"
#include "apps/terminal/text.h"
#include "apps/weft/plot.h"

namespace weft::apps {
namespace {

using nlohmann::json;
using Known = std::optional<double>;

std::string MsText(double ms) { return TimeText(std::llround(ms * 1e6)); }

std::string BothText(const Known& up, const Known& down, const char* format) {
  const auto text = [format](const Known& value) {
    return value ? fmt::format(fmt::runtime(format), *value) : std::string("-");
  };
  return text(up) + "/" + text(down);
}

std::string BytesOf(const Known& bytes) { return bytes ? BytesText(std::llround(*bytes)) : "-"; }

// What the others are compared with; nullptr if it was not run, or is worth nothing.
const StrategyResult* BaseOf(const std::vector<StrategyResult>& results) {
  const auto base = std::find_if(results.begin(), results.end(), [](const StrategyResult& result) {
    return result.strategy == "sequential" && result.invalid.empty();
  });
  return base == results.end() ? nullptr : &*base;
}

double SavedPercent(const StrategyResult& result, const StrategyResult& base) {
  return 100 * (1 - result.iteration_ms.median / base.iteration_ms.median);
}

double OfBoundPercent(const StrategyResult& result) {
  return 100 * *result.bound_ms / result.iteration_ms.median;
}

double OffPercent(const StrategyResult& result) {
  return 100 * (result.iteration_ms.median / *result.predicted_ms - 1);
}

std::vector<std::string> Row(const StrategyResult& result, const StrategyResult* base) {
  if (!result.invalid.empty()) return {result.strategy, "invalid"};
  return {result.strategy,
          MsText(result.iteration_ms.median),
          MsText(result.iteration_ms.lower) + " - " + MsText(result.iteration_ms.upper),
          result.predicted_ms ? MsText(*result.predicted_ms) : "-",
          result.predicted_ms ? fmt::format("{:+.1f} %", OffPercent(result)) : "-",
          result.bound_ms ? MsText(*result.bound_ms) : "-",
          result.bound_ms ? PercentText(OfBoundPercent(result)) : "-",
          base != nullptr ? PercentText(SavedPercent(result, *base)) : "-",
          BothText(result.segments_up, result.segments_down, "{:.0f}"),
          BothText(result.delta_up_us, result.delta_down_us, "{:.0f}"),
          BothText(result.mbps_up, result.mbps_down, "{:.1f}"),
          BytesOf(result.bytes_up) + "/" + BytesOf(result.bytes_down)};
}

void Put(json& object, const char* key, const Known& value) {
  object[key] = value ? json(*value) : json(nullptr);
}

json FactsJson(const LabFacts& facts) {
  return {{"model", facts.model},
          {"workers", facts.workers},
          {"shards", facts.shards},
          {"batch", facts.batch},
          {"mbps", facts.mbps},
          {"rtt_ms", facts.rtt_ms},
          {"jitter_ms", facts.jitter_ms},
          {"loss_percent", facts.loss_percent},
          {"queue_kb", facts.queue_kb},
          {"script", facts.script},
          {"rounds", facts.rounds},
          {"compute", facts.compute},
          {"tcp_slow_start_after_idle", 0},
          {"tcp_congestion_control", facts.congestion_control}};
}

}  // namespace

std::string FactsText(const LabFacts& facts) {
  std::string text = fmt::format("{}, {} worker{}, {}batch {}, {:g} Mb/s each way, RTT {:g} ms",
                                 facts.model, facts.workers, facts.workers == 1 ? "" : "s",
                                 facts.shards == 1 ? "" : fmt::format("{} servers, ", facts.shards),
                                 facts.batch, facts.mbps, facts.rtt_ms);
  if (facts.jitter_ms > 0) text += fmt::format(", jitter {:g} ms", facts.jitter_ms);
  if (facts.loss_percent > 0) text += fmt::format(", {:g} % lost", facts.loss_percent);
  if (facts.queue_kb > 0) text += fmt::format(", queue {:g} KB", facts.queue_kb);
  if (!facts.script.empty()) text += ", changed by " + facts.script;
  text += facts.compute == "real" ? ", real compute" : ", compute " + facts.compute;
  return text + fmt::format(", {} rounds", facts.rounds);
}

std::string ResultLine(const StrategyResult& result) {
  if (!result.invalid.empty()) return result.strategy + ": invalid: " + result.invalid;
  return fmt::format("{}: {} an iteration", result.strategy, MsText(result.iteration_ms.median));
}

std::string ResultsText(const std::vector<StrategyResult>& results) {
  const StrategyResult* base = BaseOf(results);
  const std::vector<std::string> header = {"strategy", "iteration", "middle half", "predicted",
                                           "off",      "bound",     "of bound",    "saved",
                                           "segments", "delta us",  "Mb/s",        "bytes up/down"};
  Table table(header);
  for (const StrategyResult& result : results) {
    std::vector<std::string> row = Row(result, base);
    row.resize(header.size());
    table.Add(std::move(row));
  }
  std::string notes;
  for (const StrategyResult& result : results) {
    if (!result.invalid.empty()) notes += ResultLine(result) + "\n";
  }
  return table.Text() + notes;
}

json ResultJson(const StrategyResult& result, const LabFacts& facts) {
  json object = {{"strategy", result.strategy},
                 {"valid", result.invalid.empty()},
                 {"compute", facts.compute},
                 {"rounds_measured", result.rounds},
                 {"model_hash", result.model_hash},
                 {"idle_share", result.machine.idle_share},
                 {"mean_late_ns", result.machine.mean_late_ns},
                 {"late_share", result.machine.late_share},
                 {"busiest", result.machine.busiest},
                 {"busiest_share", result.machine.busiest_share},
                 {"disk_share", result.machine.disk_share}};
  Put(object, "unread_share", result.machine.unread_share);
  Put(object, "replay_late_share", result.machine.replay_late_share);
  if (!result.invalid.empty()) {
    object["invalid"] = result.invalid;
    return object;
  }
  object["iteration_ms"] = result.iteration_ms.median;
  object["iteration_lower_ms"] = result.iteration_ms.lower;
  object["iteration_upper_ms"] = result.iteration_ms.upper;
  object["compute_ms"] = result.computing_ms;
  object["overlap_ms"] = result.overlapping_ms;
  object["wait_ms"] = result.waiting_ms;
  Put(object, "predicted_ms", result.predicted_ms);
  Put(object, "bound_ms", result.bound_ms);
  Put(object, "of_bound_percent", result.bound_ms ? Known(OfBoundPercent(result)) : std::nullopt);
  Put(object, "segments_up", result.segments_up);
  Put(object, "segments_down", result.segments_down);
  Put(object, "bytes_up", result.bytes_up);
  Put(object, "bytes_down", result.bytes_down);
  Put(object, "delta_up_us", result.delta_up_us);
  Put(object, "delta_down_us", result.delta_down_us);
  Put(object, "mbps_up", result.mbps_up);
  Put(object, "mbps_down", result.mbps_down);
  json& rounds = object["rounds"] = json::array();
  for (const WorkerRound& round : result.counted) {
    json& each = rounds.emplace_back();
    each["round"] = round.round;
    each["planned"] = round.planned;
    Put(each, "iteration_ms", round.total_ms);
    Put(each, "predicted_ms", round.predicted_ms);
    Put(each, "mbps_up", round.mbps_up);
    Put(each, "mbps_down", round.mbps_down);
  }
  return object;
}

json SummaryJson(const std::vector<StrategyResult>& results, const LabFacts& facts) {
  json summary = FactsJson(facts);
  summary["summary"] = true;
  summary["same_model"] = CheckSameModel(results).ok();
  summary["model_hash"] = results.front().model_hash;
  summary["iteration_ms"] = json::object();
  summary["saved_percent"] = json::object();
  const StrategyResult* base = BaseOf(results);
  for (const StrategyResult& result : results) {
    if (!result.invalid.empty()) continue;
    summary["iteration_ms"][result.strategy] = result.iteration_ms.median;
    if (base != nullptr) summary["saved_percent"][result.strategy] = SavedPercent(result, *base);
  }
  return summary;
}

Result<std::string> LabPlotScript(const std::string& path,
                                  const std::vector<StrategyResult>& results,
                                  const LabFacts& facts) {
  Result<std::string> script = PlotTerminal(path, 900, 520);
  if (!script.ok()) return script;
  *script += "$bars << EOD\n";
  const auto mark = [](const Known& ms) { return ms ? fmt::format("{:.6f}", *ms) : "NaN"; };
  for (const StrategyResult& result : results) {
    if (!result.invalid.empty()) {
      *script += fmt::format("\"{} (invalid)\" 0 0 0 NaN NaN \"\"\n", result.strategy);
      continue;
    }
    *script += fmt::format("\"{}\" {:.6f} {:.6f} {:.6f} {} {} \"{}\"\n", result.strategy,
                           result.computing_ms, result.overlapping_ms, result.waiting_ms,
                           mark(result.predicted_ms), mark(result.bound_ms),
                           MsText(result.iteration_ms.median));
  }
  *script += "EOD\nset title " + PlotQuoted(FactsText(facts)) +
             "\n"
             "set style data histograms\nset style histogram rowstacked\n"
             "set style fill solid 0.9 border rgb '#ffffff'\nset boxwidth 0.6\n"
             "set yrange [0:*]\nset offsets 0, 0, graph 0.15, 0\nset grid ytics lc rgb '#dddddd'\n"
             "set key outside right top vertical reverse Left\n"
             "set border 3\nset tics nomirror\nset ylabel 'iteration, ms'\n"
             "plot $bars using 2:xtic(1) lc rgb '#4c9f70' title 'computing alone', "
             "'' using 3 lc rgb '#e9b44c' title 'overlapping', "
             "'' using 4 lc rgb '#5b7db1' title 'waiting', "
             "'' using 0:5 with points pt 2 ps 1.5 lw 2 lc rgb '#222222' title 'predicted', "
             "'' using 0:6 with points pt 9 ps 1.5 lc rgb '#c0392b' title 'bound', "
             "'' using 0:($2+$3+$4):7 with labels offset 0,1 notitle\n"
             "set output\n";
  return script;
}

Status CheckSameModel(const std::vector<StrategyResult>& results) {
  for (const StrategyResult& result : results) {
    if (result.model_hash == results.front().model_hash) continue;
    return Status::Unavailable(fmt::format(
        "the strategies did not end with the same model: {} has {}, {} has {}",
        results.front().strategy, results.front().model_hash, result.strategy, result.model_hash));
  }
  return Status::Ok();
}

}  // namespace weft::apps
