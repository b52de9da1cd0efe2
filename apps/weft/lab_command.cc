// SPDX-License-Identifier: Apache-2.0
// `weft lab`: every strategy over a real broker and an emulated link, measured.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>

#include "apps/compute/memory_budget.h"
#include "apps/lab/lab_report.h"
#include "apps/lab/lab_room.h"
#include "apps/lab/lab_run.h"
#include "apps/weft/commands.h"
#include "apps/weft/demo_data.h"
#include "apps/weft/link_script_file.h"
#include "apps/weft/output_file.h"
#include "apps/weft/plot.h"
#include "apps/weft/stop_signals.h"
#include "apps/weft/strategies.h"
#include "apps/weft/training_memory.h"
#include "core/model/units.h"
#include "core/model/zoo.h"

namespace weft::apps {
namespace {

struct LabFlags {
  LabFacts facts;
  std::string strategies = "all";
  std::string data;
  bool json = false;
  std::string plot;
  std::string trace;
  std::string name = "weft-lab";
};

// What was typed, checked, with everything that follows from it.
struct LabPlan {
  JobSetting job;
  LabNetwork::Setting network;
  std::vector<std::string> strategies;
  LabSize size;
  Scratch::Room room;
};

// The model's own kind of images, made up, where none are given.
Result<ChosenData> DataFor(const LabFlags& flags) {
  if (!flags.data.empty()) return ChooseData(flags.data);
  for (const model::ZooEntry& entry : model::Zoo()) {
    if (entry.name != flags.facts.model) continue;
    return ChooseData(fmt::format("synthetic:{}x{}x{}:{}", entry.input[0], entry.input[1],
                                  entry.input[2], entry.classes));
  }
  return model::BuildModel(flags.facts.model).status();  // the sentence that lists the names
}

Result<LabNetwork::Setting> NetworkFor(const LabFlags& flags) {
  const LabFacts& facts = flags.facts;
  const Result<int64_t> rate = net::RateOfMbps(facts.mbps);
  if (!rate.ok()) return rate.status().WithContext("--mbps");
  const Result<int64_t> delay = net::DelayOfMs(facts.rtt_ms / 2);
  if (!delay.ok()) return delay.status().WithContext("--rtt-ms");
  const Result<int64_t> jitter = net::DelayOfMs(facts.jitter_ms);
  if (!jitter.ok()) return jitter.status().WithContext("--jitter-ms");
  const Result<int64_t> queue = net::BytesOfKb(facts.queue_kb);
  if (!queue.ok()) return queue.status().WithContext("--queue-kb");
  Result<std::vector<net::LinkChange>> changes = ReadLinkScript(facts.script);
  if (!changes.ok()) return changes.status();
  return LabNetwork::Setting{.name = flags.name,
                             .workers = facts.workers,
                             .link = {.rate_bps = *rate,
                                      .delay_ns = *delay,
                                      .jitter_ns = *jitter,
                                      .loss = facts.loss_percent / 100,
                                      .queue_bytes = *queue},
                             .changes = std::move(changes).value()};
}

Result<LabPlan> PlanOf(const LabFlags& flags) {
  const LabFacts& facts = flags.facts;
  LabPlan plan;
  const Result<std::vector<sched::Strategy>> strategies = ParseStrategies(flags.strategies);
  if (!strategies.ok()) return strategies.status();
  const std::vector<sched::Strategy> known = sched::JobStrategies();
  for (const sched::Strategy strategy : *strategies) {
    const std::string name(sched::Name(strategy));
    if (std::find(known.begin(), known.end(), strategy) == known.end()) {
      return Status::InvalidInput("no job runs by '" + name + "'; it is for planning only");
    }
    plan.strategies.push_back(name);
  }
  const Result<ChosenData> data = DataFor(flags);
  if (!data.ok()) return data.status();
  Result<LabNetwork::Setting> network = NetworkFor(flags);
  if (!network.ok()) return network.status();
  plan.network = std::move(network).value();
  const Result<model::Graph> graph =
      model::BuildModel(facts.model, {.classes = data->classes, .input = data->image});
  if (!graph.ok()) return graph.status();
  int64_t model_bytes = 0;
  int64_t largest_unit = 0;
  for (const model::Unit& unit : model::CutIntoUnits(*graph)) {
    model_bytes += unit.bytes;
    largest_unit = std::max(largest_unit, unit.bytes);
  }
  plan.size = {.model = facts.model,
               .workers = facts.workers,
               .shards = facts.shards,
               .model_bytes = model_bytes};
  if (facts.compute == "real") {
    const Result<std::vector<TrainingMemory>> memory = PlanTrainingMemory(*graph, facts.batch);
    if (!memory.ok()) return memory.status();
    plan.size.compute_bytes = static_cast<int64_t>(ReadAheadBytes(*graph, facts.batch));
    if (!memory->empty()) plan.size.compute_bytes += memory->front().activations;
  } else {
    plan.size.compute_bytes = largest_unit;
  }
  plan.room = Scratch::RoomHere();
  plan.size.checkpoint_every = CheckpointEvery(plan.size, plan.room);
  const int processors = std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
  plan.job = {.job = "lab",
              .model = facts.model,
              .input = data->ImageText(),
              .classes = data->classes,
              .data = data->spec,
              .rounds = facts.rounds,
              .workers = facts.workers,
              .shards = facts.shards,
              .batch = facts.batch,
              // One is for the broker, the servers and the links.
              .threads = std::max(1, (processors - 1) / facts.workers),
              .learning_rate = 0.01,  // careful: what is measured must not run into nan
              .checkpoint_every = plan.size.checkpoint_every,
              .compute = facts.compute == "real" ? "" : facts.compute};
  return plan;
}

std::string TracesOf(const LabFlags& flags, const std::string& strategy) {
  return flags.trace.empty() ? "" : flags.trace + "/" + strategy + "-";
}

// What would be missed only after hours of work.
Status CheckOutput(const LabFlags& flags, const LabPlan& plan) {
  if (!flags.plot.empty()) {
    if (Status status = CheckPlot(flags.plot); !status.ok()) return status;
  }
  if (flags.trace.empty()) return Status::Ok();
  std::error_code error;
  std::filesystem::create_directories(flags.trace, error);
  if (error) return Status::Unavailable("cannot make the folder '" + flags.trace + "'");
  return CheckWritable(TracesOf(flags, plan.strategies.front()) + WorkerName(0) + ".json");
}

Status Report(const std::vector<StrategyResult>& results, const LabFlags& flags, Console& console) {
  if (flags.json) {
    console.out << SummaryJson(results, flags.facts) << "\n";
  } else {
    console.out << "\n" << FactsText(flags.facts) << "\n\n" << ResultsText(results) << "\n";
  }
  if (!flags.plot.empty()) {
    const Result<std::string> script = LabPlotScript(flags.plot, results, flags.facts);
    if (!script.ok()) return script.status();
    if (Status status = RunGnuplot(flags.plot, *script); !status.ok()) return status;
    if (!flags.json) console.out << "picture: " << flags.plot << "\n";
  }
  if (Status status = CheckSameModel(results); !status.ok()) return status;
  if (!flags.json) {
    console.out << fmt::format("{} model {}\n",
                               results.size() == 1 ? "it ended with" : "all ended with the same",
                               results.front().model_hash.substr(0, 16));
  }
  return Status::Ok();
}

Status RunLab(LabFlags flags, Console& console) {
  const Result<Companions> companions = Companions::Find();
  if (!companions.ok()) return companions.status();
  Result<LabPlan> plan = PlanOf(flags);
  if (!plan.ok()) return plan.status();
  if (Status status = CheckOutput(flags, *plan); !status.ok()) return status;
  if (Status status = CheckRoom(plan->size, plan->room); !status.ok()) return status;

  const LabNeed need = NeedOf(plan->size);

  const StopSignals stops;  // first: what is made below is put back whatever comes
  const Result<std::unique_ptr<LabNetwork>> network = LabNetwork::Create(plan->network);
  if (!network.ok()) return network.status();
  flags.facts.congestion_control = (*network)->congestion_control();
  const Result<std::unique_ptr<Scratch>> scratch =
      Scratch::Create(need.files_bytes, need.programs_bytes());
  if (!scratch.ok()) return scratch.status();
  const LabTools tools{.companions = *companions,
                       .scratch = **scratch,
                       .network = **network,
                       .stop_file = stops.file(),
                       .console = console,
                       .silent = flags.json || !console.terminal.live};
  const auto stopped = [&] {
    console.err << "weft: stopped; what it had started has ended\n";
    console.exit_code = 128 + stops.Take().value_or(StopSignals::Stop{.number = SIGINT}).number;
    return Status::Ok();
  };
  plan->job.times = (*scratch)->Path("times");
  if (!flags.json) {
    console.out << FactsText(flags.facts)
                << "\nnet.ipv4.tcp_slow_start_after_idle=0 and tcp_congestion_control="
                << flags.facts.congestion_control << " in every namespace\n";
  }
  if (plan->job.compute.empty()) {
    const Result<bool> learnt = LearnKernelTimes(plan->job, tools);
    if (!learnt.ok()) return learnt.status();
    if (!*learnt) return stopped();
  }
  std::vector<StrategyResult> results;
  for (const std::string& strategy : plan->strategies) {
    plan->job.strategy = strategy;
    plan->job.traces = TracesOf(flags, strategy);
    const std::string title =
        fmt::format("{} ({} of {})", strategy, results.size() + 1, plan->strategies.size());
    if (!tools.silent) console.out << "\n";
    Result<std::optional<StrategyResult>> result = MeasureStrategy(plan->job, title, tools);
    if (!result.ok()) return result.status();
    if (!*result) return stopped();
    results.push_back(std::move(**result));
    if (flags.json) {
      console.out << ResultJson(results.back(), flags.facts) << std::endl;
    } else {
      console.out << ResultLine(results.back()) << std::endl;
    }
  }
  return Report(results, flags, console);
}

}  // namespace

Command AddLabCommand(CLI::App& app) {
  auto flags = std::make_shared<LabFlags>();
  LabFlags& f = *flags;
  CLI::App* lab = app.add_subcommand(
      "lab", "Measure the strategies over a real broker and emulated links; needs root");
  lab->add_option("--model", f.facts.model, "Model of the zoo; `weft model` lists them")
      ->required();
  lab->add_option("--workers", f.facts.workers, "Devices, each with a link of its own")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  lab->add_option("--shards", f.facts.shards, "Servers that share the model")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  lab->add_option("--mbps", f.facts.mbps, "Rate of each link, each way, in Mb/s; 0: no limit")
      ->required()
      ->check(FromZeroUpTo(100'000));
  lab->add_option("--rtt-ms", f.facts.rtt_ms, "Round trip of an idle link")
      ->check(FromZeroUpTo(120'000))
      ->capture_default_str();
  lab->add_option("--jitter-ms", f.facts.jitter_ms, "Each packet takes up to so much longer")
      ->check(FromZeroUpTo(60'000))
      ->capture_default_str();
  lab->add_option("--loss", f.facts.loss_percent, "Percent of packets that are lost")
      ->check(FromZeroUpTo(100))
      ->capture_default_str();
  lab->add_option("--queue-kb", f.facts.queue_kb,
                  "What may wait for each line; 0: a round trip's worth and 256")
      ->check(FromZeroUpTo(static_cast<double>(net::kMostLinkQueueBytes) / 1024))
      ->capture_default_str();
  lab->add_option("--script", f.facts.script,
                  "A file of changes to the links, each run: at SECONDS up|down|both mbps=…");
  lab->add_option("--strategies,--strategy", f.strategies,
                  "Names separated by commas, or all: sequential, lbl, ibatch, dynacomm, weave")
      ->capture_default_str();
  lab->add_option("--rounds", f.facts.rounds, "For each strategy; the first few do not count")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}))
      ->capture_default_str();
  lab->add_option("--batch", f.facts.batch, "Images in a worker's step")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  lab->add_option("--compute", f.facts.compute,
                  "real, or replay:FILE to sleep for as long as a profile says (docs/profile.md)")
      ->capture_default_str();
  lab->add_option("--data", f.data, "KIND:PATH (docs/data.md); if not given, made up");
  lab->add_flag("--json", f.json, "An object for each strategy on stdout, and a summary");
  lab->add_option("--plot", f.plot, "Draw iteration times as FILE.svg or FILE.png");
  lab->add_option("--trace", f.trace, "Folder for a Chrome trace of each worker and strategy");
  lab->add_option("--name", f.name, "The namespaces are NAME-cloud, NAME-w1, NAME-w2, ...")
      ->capture_default_str();
  return {lab, [flags](Console& console) { return RunLab(*flags, console); }};
}

}  // namespace weft::apps
