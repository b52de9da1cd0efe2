// SPDX-License-Identifier: Apache-2.0
// `weft sim`: models of the zoo on a described machine, link and fleet, under every strategy.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "apps/profile/profile_file.h"
#include "apps/profile/trace_file.h"
#include "apps/terminal/text.h"
#include "apps/weft/commands.h"
#include "apps/weft/plot.h"
#include "apps/weft/strategies.h"
#include "core/model/units.h"
#include "core/model/zoo.h"

namespace weft::apps {
namespace {

struct SimFlags {
  std::string models;
  int batch = 32;
  double gflops = 100;
  double mbps = 100;
  double overhead_ms = 5;
  double rtt_ms = 10;
  double backward_ratio = 2;
  int workers = 1;
  int rounds = 20;
  int spread_percent = 0;
  uint64_t seed = 1;
  double server_gbytes = 0;
  std::string broker_hop = "off";
  double broker_mbps = 10000;
  double broker_overhead_ms = 0.1;
  std::string strategies = "all";
  bool json = false;
  std::string plot;
  std::string trace;
  std::string profile_out;
};

struct ModelRun {
  std::string name;
  sched::CostProfile profile;
  std::vector<Outcome> outcomes;
  sched::Nanos bound_ns = 0;
};

sched::Nanos MsToNs(double ms) { return std::llround(ms * 1e6); }

int64_t MbpsToBytesPerS(double mbps) { return std::max<int64_t>(1, std::llround(mbps * 125'000)); }

sched::Setting SettingOf(const SimFlags& flags) {
  sched::Setting setting{.batch = flags.batch,
                         .gflops = flags.gflops,
                         .backward_ratio = flags.backward_ratio,
                         .bytes_per_s = MbpsToBytesPerS(flags.mbps),
                         .overhead_ns = MsToNs(flags.overhead_ms),
                         .rtt_ns = MsToNs(flags.rtt_ms)};
  if (flags.broker_hop == "on") {
    setting.broker = {.overhead_ns = MsToNs(flags.broker_overhead_ms),
                      .bytes_per_s = MbpsToBytesPerS(flags.broker_mbps)};
  }
  return setting;
}

Result<ModelRun> SimulateModel(const std::string& name, const SimFlags& flags,
                               const std::vector<sched::Strategy>& strategies) {
  Result<model::Graph> graph = model::BuildModel(name);
  if (!graph.ok()) return graph.status();
  std::vector<sched::UnitWork> work;
  for (const model::Unit& unit : model::CutIntoUnits(*graph)) {
    work.push_back({unit.name, unit.bytes, unit.macs});
  }
  Result<sched::CostProfile> profile = sched::EstimateProfile(work, SettingOf(flags));
  if (!profile.ok()) return profile.status().WithContext(name);
  const sched::JobSetting job{.workers = flags.workers,
                              .rounds = flags.rounds,
                              .spread_percent = flags.spread_percent,
                              .seed = flags.seed,
                              .server_bytes_per_s = std::llround(flags.server_gbytes * 1e9)};
  Result<std::vector<Outcome>> outcomes = Evaluate(strategies, *profile, job);
  if (!outcomes.ok()) return outcomes.status();
  ModelRun run{
      .name = name, .profile = std::move(profile).value(), .outcomes = std::move(outcomes).value()};
  run.bound_ns = sched::IterationBound(run.profile);
  return run;
}

nlohmann::json RunJson(const ModelRun& run) {
  nlohmann::json strategies = nlohmann::json::object();
  for (const auto& [plan, report] : run.outcomes) {
    strategies[std::string(sched::Name(plan.strategy))] = {
        {"forward_ns", report.forward_ns},
        {"backward_ns", report.backward_ns},
        {"iteration_ns", report.iteration_ns},
        {"messages_down", plan.weave ? plan.weave->slices.size() : plan.forward.segments()},
        {"messages_up", plan.weave ? plan.weave->slices.size() : plan.backward.segments()}};
  }
  return {
      {"units", run.profile.unit_count()}, {"strategies", strategies}, {"bound_ns", run.bound_ns}};
}

// The strategy that others are compared with: sequential, or whatever was asked for first.
const sched::SimReport& BaseOf(const ModelRun& run) {
  for (const Outcome& outcome : run.outcomes) {
    if (outcome.plan.strategy == sched::Strategy::kSequential) return outcome.report;
  }
  return run.outcomes.front().report;
}

std::string RunText(const ModelRun& run, bool nominal) {
  const sched::Nanos base = BaseOf(run).iteration_ns;
  Table table({"strategy", "forward", "backward", "iteration", "saved", "of bound", "messages"});
  for (const auto& [plan, report] : run.outcomes) {
    const double of_bound =
        100 * static_cast<double>(run.bound_ns) / static_cast<double>(report.iteration_ns);
    table.Add({std::string(sched::Name(plan.strategy)), TimeText(report.forward_ns),
               TimeText(report.backward_ns), TimeText(report.iteration_ns),
               PercentText(SavedPercent(report.iteration_ns, base)), PercentText(of_bound),
               MessagesText(plan)});
  }
  table.Add({nominal ? "bound (nominal worker)" : "bound", "", "", TimeText(run.bound_ns),
             PercentText(SavedPercent(run.bound_ns, base)), PercentText(100), ""});
  return fmt::format("{}, {} units\n", run.name, run.profile.unit_count()) + table.Text();
}

std::string SettingText(const SimFlags& flags) {
  std::string text =
      fmt::format("batch {}, {:g} GFLOP/s, {:g} Mb/s, overhead {:g} ms, RTT {:g} ms, {} worker{}",
                  flags.batch, flags.gflops, flags.mbps, flags.overhead_ms, flags.rtt_ms,
                  flags.workers, flags.workers == 1 ? "" : "s");
  if (flags.spread_percent > 0) text += fmt::format(", up to {} % slower", flags.spread_percent);
  if (flags.broker_hop == "on") {
    text += fmt::format(", broker hop {:g} Mb/s + {:g} ms", flags.broker_mbps,
                        flags.broker_overhead_ms);
  }
  if (flags.server_gbytes > 0) text += fmt::format(", server sums {:g} GB/s", flags.server_gbytes);
  return text;
}

PlotModel PlotOf(const ModelRun& run) {
  const sched::SimReport& base = BaseOf(run);
  PlotModel plot{.name = run.name,
                 .bars = {},
                 .forward_unit_ns = base.forward_ns,
                 .backward_unit_ns = base.backward_ns,
                 .iteration_unit_ns = base.iteration_ns,
                 .bound_ns = run.bound_ns};
  for (const auto& [plan, report] : run.outcomes) {
    const sched::Portions& f = report.forward;
    const sched::Portions& b = report.backward;
    sched::Portions all{f.computing_alone_ns + b.computing_alone_ns,
                        f.overlapping_ns + b.overlapping_ns,
                        f.communicating_alone_ns + b.communicating_alone_ns};
    // What the phases leave out, the latency at a barrier, is waiting too.
    all.communicating_alone_ns += std::max<sched::Nanos>(0, report.iteration_ns - all.total_ns());
    plot.bars.push_back({std::string(sched::Name(plan.strategy)), f, b, all});
  }
  return plot;
}

Status RunSim(const SimFlags& flags, Console& console) {
  Result<std::vector<sched::Strategy>> strategies = ParseStrategies(flags.strategies);
  if (!strategies.ok()) return strategies.status();
  std::vector<ModelRun> runs;
  for (const std::string& name : SplitAtCommas(flags.models)) {
    Result<ModelRun> run = SimulateModel(name, flags, *strategies);
    if (!run.ok()) return run.status();
    int64_t events = 0;
    for (const Outcome& outcome : run->outcomes) events += outcome.report.events;
    console.log.Debug(fmt::format("{}: {} events simulated", name, events));
    runs.push_back(std::move(run).value());
  }
  if (!flags.plot.empty()) {
    std::vector<PlotModel> plots;
    for (const ModelRun& run : runs) plots.push_back(PlotOf(run));
    if (Status status = WritePlot(flags.plot, SettingText(flags), plots); !status.ok()) {
      return status;
    }
  }
  if (!flags.trace.empty()) {
    std::vector<TraceTrack> tracks;
    for (const ModelRun& run : runs) {
      for (const auto& [plan, report] : run.outcomes) {
        tracks.push_back({fmt::format("{} {}", run.name, sched::Name(plan.strategy)),
                          report.timeline, run.profile.units});
      }
    }
    if (Status status = WriteTrace(flags.trace, tracks); !status.ok()) return status;
  }
  if (!flags.profile_out.empty()) {
    if (runs.size() != 1) {
      return Status::InvalidInput(
          "--profile-out takes the profile of one model; give one --models");
    }
    const Status status = WriteProfileFile(flags.profile_out, runs.front().profile);
    if (!status.ok()) return status;
  }
  if (flags.json) {
    nlohmann::json models = nlohmann::json::object();
    for (const ModelRun& run : runs) models[run.name] = RunJson(run);
    console.out << nlohmann::json{{"models", models}} << "\n";
    return Status::Ok();
  }
  console.out << SettingText(flags) << "\n";
  for (const ModelRun& run : runs) {
    console.out << "\n" << RunText(run, /*nominal=*/flags.spread_percent > 0);
  }
  if (!flags.plot.empty()) console.out << "\npicture: " << flags.plot << "\n";
  if (!flags.trace.empty()) console.out << "trace (open in Perfetto): " << flags.trace << "\n";
  return Status::Ok();
}

}  // namespace

Command AddSimCommand(CLI::App& app) {
  auto flags = std::make_shared<SimFlags>();
  CLI::App* sim = app.add_subcommand("sim", "Simulate a job of zoo models under the strategies");
  SimFlags& f = *flags;
  sim->add_option("--models", f.models, "Zoo models, separated by commas")->required();
  sim->add_option("--batch", f.batch, "Images per worker and iteration")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  sim->add_option("--gflops", f.gflops, "A worker's 1e9 operations/s; a multiply-add is two")
      ->check(PositiveUpTo(1e9))
      ->capture_default_str();
  sim->add_option("--mbps", f.mbps, "Link rate each way in Mb/s")
      ->check(PositiveUpTo(1e9))
      ->capture_default_str();
  sim->add_option("--overhead-ms", f.overhead_ms, "Δt: cost of one more message, each way")
      ->check(FromZeroUpTo(1e6))
      ->capture_default_str();
  sim->add_option("--rtt-ms", f.rtt_ms, "Round-trip latency of the link")
      ->check(FromZeroUpTo(1e6))
      ->capture_default_str();
  sim->add_option("--backward-ratio", f.backward_ratio, "Backward time over forward time")
      ->check(FromZeroUpTo(1000))
      ->capture_default_str();
  sim->add_option("--workers", f.workers, "Workers of the job")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  sim->add_option("--rounds", f.rounds, "Rounds to simulate; the later half is reported")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  sim->add_option("--spread", f.spread_percent,
                  "Workers' computing and links are each up to so many percent slower")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  sim->add_option("--seed", f.seed, "Seed of the spread")->capture_default_str();
  sim->add_option("--server-gbytes", f.server_gbytes,
                  "Gradients the server sums in GB/s; 0: no time at all")
      ->check(FromZeroUpTo(1e5))
      ->capture_default_str();
  sim->add_option("--broker-hop", f.broker_hop,
                  "on: messages cross a store-and-forward broker that all workers share")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  sim->add_option("--broker-mbps", f.broker_mbps, "Rate between broker and server in Mb/s")
      ->check(PositiveUpTo(1e9))
      ->capture_default_str();
  sim->add_option("--broker-overhead-ms", f.broker_overhead_ms, "Broker's cost per message")
      ->check(FromZeroUpTo(1e6))
      ->capture_default_str();
  sim->add_option("--strategies,--strategy", f.strategies,
                  "Names separated by commas, or all: sequential, lbl, ibatch, dynacomm, weave")
      ->capture_default_str();
  sim->add_flag("--json", f.json, "One JSON object on stdout");
  sim->add_option("--plot", f.plot, "Draw the run as FILE.svg or FILE.png");
  sim->add_option("--trace", f.trace, "Write the timelines as a Chrome trace, FILE.json");
  sim->add_option("--profile-out", f.profile_out,
                  "Write the estimated profile of the one model, to plan with or to replay");
  return {sim, [flags](Console& console) { return RunSim(*flags, console); }};
}

}  // namespace weft::apps
