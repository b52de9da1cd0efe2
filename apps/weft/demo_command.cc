// SPDX-License-Identifier: Apache-2.0
// `weft demo`: a broker, a server and some workers on this machine train a model together, and
// people can watch.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>

#include "apps/lab/companions.h"
#include "apps/lab/job_display.h"
#include "apps/lab/job_run.h"
#include "apps/lab/scratch.h"
#include "apps/weft/commands.h"
#include "apps/weft/demo_data.h"
#include "apps/weft/stop_signals.h"
#include "core/model/zoo.h"
#include "sched/strategy.h"

namespace weft::apps {
namespace {

constexpr int64_t kScratchBytes = int64_t{1} << 30;

struct DemoFlags {
  int workers = 3;
  int64_t rounds = 0;
  std::string strategy;
  std::string model = "lenet5";
  std::string data;
  std::string save = "weft-demo.safetensors";
  bool json = false;
};

// Enough to see it learn, and to be done within a minute on two processors. lenet5 is small: it
// takes many steps, and large ones on real images.
JobSetting SettingOf(const DemoFlags& flags, const ChosenData& data) {
  const bool small = flags.model == "lenet5";
  const bool made_up = data.name == "synthetic";
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return {.job = "demo",
          .model = flags.model,
          .input = data.ImageText(),
          .classes = data.classes,
          .data = data.spec,
          .rounds = flags.rounds > 0 ? flags.rounds : (small ? 500 : 100),
          .workers = flags.workers,
          .batch = small ? 64 : 32,
          .threads = std::max(1, processors / flags.workers),
          .learning_rate = made_up ? 0.01 : (small ? 0.1 : 0),
          .strategy = flags.strategy,
          .save = flags.save,
          .evaluate = true};
}

// What a mistake would spoil in the end is found at the beginning.
Status Check(const DemoFlags& flags, const ChosenData& data) {
  if (!flags.strategy.empty()) {
    const Result<sched::Strategy> strategy =
        sched::ParseStrategy(flags.strategy, sched::JobStrategies());
    if (!strategy.ok()) return strategy.status();
  }
  return model::BuildModel(flags.model, {.classes = data.classes, .input = data.image})
      .status()
      .WithContext(data.name);
}

void PrintResult(const JobSetting& setting, const std::string& hash, double top1, double seconds,
                 const Companions& companions, Console& console) {
  console.out << fmt::format(
      "\n{:.1f} % of the test images are recognised after {} rounds, {}\n"
      "model {}, saved to {}\n\n"
      "Next, every strategy over an emulated link (needs root):\n"
      "  {} lab --model {} --workers 2 --mbps 20 --rtt-ms 20 --strategies all --rounds 20\n"
      "Or see that nothing is lost: start\n"
      "  {} demo --rounds 3000\n"
      "and, from another terminal, kill -9 one of the pids that it shows. It comes back.\n",
      100 * top1, setting.rounds, DurationText(seconds), hash.substr(0, 16), setting.save,
      companions.weft, setting.model, companions.weft);
}

Status RunDemo(const DemoFlags& flags, Console& console) {
  const Result<Companions> companions = Companions::Find();
  if (!companions.ok()) return companions.status();
  const Result<ChosenData> data = ChooseData(flags.data);
  if (!data.ok()) return data.status();
  if (Status status = Check(flags, *data); !status.ok()) return status;
  const JobSetting setting = SettingOf(flags, *data);

  const StopSignals stops;  // first: what is made below is put back whatever comes
  const Result<std::unique_ptr<Scratch>> scratch = Scratch::Create(kScratchBytes);
  if (!scratch.ok()) return scratch.status();
  JobDisplay display(fmt::format("{} on {}, {} worker{}{}", setting.model, data->name,
                                 setting.workers, setting.workers == 1 ? "" : "s",
                                 setting.strategy.empty() ? "" : ", " + setting.strategy),
                     "kill -9 any of these pids: it comes back",
                     flags.json ? JobDisplay::Mode::kRounds : JobDisplay::Mode::kPeople, console);
  Result<std::unique_ptr<JobRun>> run = JobRun::Start(setting, *companions, **scratch, "demo",
                                                      {.revive = true, .stop_file = stops.file()});
  if (!run.ok()) return run.status();
  for (;;) {
    const Result<JobRun::Progress> progress = (*run)->Listen(display.MsToNextFrame());
    if (!progress.ok()) return progress.status();
    if (*progress == JobRun::Progress::kStopped) {
      run->reset();
      console.err << "weft: stopped; what it had started has ended\n";
      console.exit_code = 128 + stops.Take().value_or(StopSignals::Stop{.number = SIGINT}).number;
      return Status::Ok();
    }
    display.Update((*run)->state());
    if (*progress == JobRun::Progress::kDone) break;
  }
  display.Finish((*run)->state());
  const Result<std::string> hash = (*run)->ModelHash();
  if (!hash.ok()) return hash.status();
  const std::optional<double> top1 = (*run)->state().workers.front().top1;
  if (!top1) return Status::Unavailable("the first worker did not say how well the model does");
  if (flags.json) {
    console.out << nlohmann::json{{"model_hash", *hash},
                                  {"top1", *top1},
                                  {"rounds", setting.rounds},
                                  {"seconds", display.seconds()}}
                << "\n";
  } else {
    PrintResult(setting, *hash, *top1, display.seconds(), *companions, console);
  }
  return Status::Ok();
}

}  // namespace

Command AddDemoCommand(CLI::App& app) {
  auto flags = std::make_shared<DemoFlags>();
  DemoFlags& f = *flags;
  CLI::App* demo = app.add_subcommand(
      "demo", "Broker, server and workers on this machine train a model together");
  demo->add_option("--workers", f.workers, "How many devices to play")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  demo->add_option("--rounds", f.rounds, "How long to train; if not given, about a minute")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}));
  demo->add_option("--strategy", f.strategy,
                   "sequential, lbl, ibatch, dynacomm or weave; the server's own if not given");
  demo->add_option("--model", f.model, "Model of the zoo; `weft model` lists them")
      ->capture_default_str();
  demo->add_option("--data", f.data,
                   "KIND:PATH (docs/data.md); if not given, real images where there are some");
  demo->add_option("--save", f.save, "Where the trained weights go")->capture_default_str();
  demo->add_flag("--json", f.json, "An object for each round on stdout, and one in the end");
  return {demo, [flags](Console& console) { return RunDemo(*flags, console); }};
}

}  // namespace weft::apps
