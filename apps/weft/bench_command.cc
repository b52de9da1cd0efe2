// SPDX-License-Identifier: Apache-2.0
// `weft bench`: how fast our own parts are on this machine.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>
#include <utility>

#include "apps/terminal/text.h"
#include "apps/weft/commands.h"
#include "apps/weft/kernel_bench.h"
#include "apps/weft/runtime_bench.h"
#include "apps/weft/train_bench.h"
#include "apps/weft/transport_bench_command.h"
#include "bench/aggregate_bench.h"
#include "bench/planner_bench.h"
#include "core/clock.h"
#include "core/thread_pool.h"

namespace weft::apps {
namespace {

struct BenchFlags {
  bool json = false;
  TrainBenchSetting train;
  RuntimeBenchSetting runtime;
  KernelBenchSetting kernels;
  bench::AggregateSetting aggregate;
  int aggregate_threads = 0;
  TransportBenchFlags transport;
};

Status RunRuntimeBench(const BenchFlags& flags, Console& console) {
  Result<RuntimeBenchResult> result = BenchRuntime(flags.runtime, SteadyClock());
  if (!result.ok()) return result.status();
  const double more =
      100 * (static_cast<double>(result->joined_ns) / static_cast<double>(result->local_ns) - 1);
  if (flags.json) {
    console.out << nlohmann::json{{"model", flags.runtime.network.model},
                                  {"batch", flags.runtime.network.batch},
                                  {"strategy", flags.runtime.strategy},
                                  {"local_ns", result->local_ns},
                                  {"joined_ns", result->joined_ns},
                                  {"bare_ns", result->bare_ns},
                                  {"plans", result->plans},
                                  {"overhead_percent", more}}
                << "\n";
    return Status::Ok();
  }
  console.out << fmt::format(
      "{}, batch {}, {}: a local step {}, in a job {} ({:+.1f} %), without update or job {}; {} "
      "plans\n",
      flags.runtime.network.model, flags.runtime.network.batch, flags.runtime.strategy,
      TimeText(result->local_ns), TimeText(result->joined_ns), more, TimeText(result->bare_ns),
      result->plans);
  return Status::Ok();
}

Status RunPlannerBench(bool as_json, Console& console) {
  const std::vector<bench::PlannerTimes> rows = bench::BenchPlanners(SteadyClock());
  nlohmann::json answer = nlohmann::json::array();
  Table table({"units", "paper O(L^3)", "any table O(L^2)", "weft O(L)", "O(L) per unit"});
  for (const bench::PlannerTimes& row : rows) {
    const auto json_of = [](const std::optional<int64_t>& ns) {
      return ns ? nlohmann::json(*ns) : nlohmann::json(nullptr);
    };
    answer.push_back({{"units", row.units},
                      {"paper_ns", json_of(row.paper_ns)},
                      {"quadratic_ns", json_of(row.quadratic_ns)},
                      {"linear_ns", row.linear_ns}});
    table.Add({std::to_string(row.units), row.paper_ns ? TimeText(*row.paper_ns) : "-",
               row.quadratic_ns ? TimeText(*row.quadratic_ns) : "-", TimeText(row.linear_ns),
               TimeText(row.linear_ns / row.units)});
  }
  if (as_json) {
    console.out << nlohmann::json{{"planner", answer}} << "\n";
  } else {
    console.out << table.Text()
                << "\nOne forward plus one backward plan, median of many; - is not waited for.\n";
  }
  return Status::Ok();
}

Status RunTrainBench(const BenchFlags& flags, Console& console) {
  Result<TrainBenchResult> result = BenchTraining(flags.train, SteadyClock());
  if (!result.ok()) return result.status();
  if (flags.json) {
    console.out << nlohmann::json{{"model", flags.train.network.model},
                                  {"batch", flags.train.network.batch},
                                  {"threads", result->threads},
                                  {"images_per_s", result->images_per_s},
                                  {"images_per_s_best", result->images_per_s_best},
                                  {"step_ns", result->step_ns},
                                  {"forward_ns", result->forward_ns},
                                  {"backward_ns", result->backward_ns},
                                  {"update_ns", result->update_ns},
                                  {"peak_rss_bytes", result->peak_rss_bytes},
                                  {"gflops", result->gflops},
                                  {"peak_share", result->peak_share}}
                << "\n";
    return Status::Ok();
  }
  console.out << fmt::format(
      "{} batch {}, {} threads: {:.1f} images/s (best {:.1f}); step {} = forward {} + backward {} "
      "+ "
      "update {}; {:.0f} GFLOP/s, {:.0f} % of this machine's peak; peak memory {}\n",
      flags.train.network.model, flags.train.network.batch, result->threads, result->images_per_s,
      result->images_per_s_best, TimeText(result->step_ns), TimeText(result->forward_ns),
      TimeText(result->backward_ns), TimeText(result->update_ns), result->gflops,
      100 * result->peak_share, BytesText(result->peak_rss_bytes));
  return Status::Ok();
}

Status RunKernelBench(const BenchFlags& flags, Console& console) {
  Result<std::vector<KernelBenchRow>> rows = BenchKernels(flags.kernels, SteadyClock());
  if (!rows.ok()) return rows.status();
  nlohmann::json answer = nlohmann::json::array();
  Table table({"layer", "layers", "what", "kernel", "time", "GFLOP/s"});
  for (const KernelBenchRow& row : *rows) {
    nlohmann::json kernels = nlohmann::json::array();
    for (const Registry::TimedKernel& kernel : row.kernels) {
      const bool first = &kernel == row.kernels.data();
      const double gflops = 2.0 * static_cast<double>(row.macs) / static_cast<double>(kernel.ns);
      kernels.push_back({{"kernel", kernel.name}, {"ns", kernel.ns}, {"exact", kernel.exact}});
      table.Add({first ? row.op : "", first ? std::to_string(row.layers) : "",
                 first ? RoleName(row.role) : "", kernel.name + (kernel.exact ? "" : " *"),
                 TimeText(kernel.ns), row.macs > 0 ? fmt::format("{:.0f}", gflops) : ""});
    }
    answer.push_back({{"layer", row.op},
                      {"layers", row.layers},
                      {"role", RoleName(row.role)},
                      {"macs", row.macs},
                      {"kernels", kernels}});
  }
  if (flags.json) {
    console.out << nlohmann::json{{"model", flags.kernels.model},
                                  {"batch", flags.kernels.batch},
                                  {"ops", answer}}
                << "\n";
  } else {
    console.out << table.Text() << "\nThe fastest of each first; * trades digits for speed.\n";
  }
  return Status::Ok();
}

Status RunAggregateBench(const BenchFlags& flags, Console& console) {
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  ThreadPool pool(flags.aggregate_threads > 0 ? flags.aggregate_threads : processors);
  const std::pair<const char*, train::OptimizerSpec> optimizers[] = {
      {"sgd", train::Sgd{}},
      {"sgd, momentum", train::Sgd{.momentum = 0.9, .weight_decay = 1e-4}},
      {"adamw", train::AdamW{}}};
  nlohmann::json answer = nlohmann::json::array();
  Table table({"optimizer", "time", "bytes", "GB/s", "copy", "triad", "of copy"});
  for (const auto& [name, spec] : optimizers) {
    bench::AggregateSetting setting = flags.aggregate;
    setting.optimizer = spec;
    const Result<bench::AggregateSpeed> speed =
        bench::BenchAggregation(setting, pool, SteadyClock());
    if (!speed.ok()) return speed.status();
    answer.push_back({{"optimizer", name},
                      {"ns", speed->aggregate_ns},
                      {"bytes", speed->bytes},
                      {"gb_per_s", speed->aggregate_gb_per_s},
                      {"copy_gb_per_s", speed->copy_gb_per_s},
                      {"triad_gb_per_s", speed->triad_gb_per_s}});
    table.Add({name, TimeText(speed->aggregate_ns), BytesText(speed->bytes),
               fmt::format("{:.1f}", speed->aggregate_gb_per_s),
               fmt::format("{:.1f}", speed->copy_gb_per_s),
               fmt::format("{:.1f}", speed->triad_gb_per_s),
               PercentText(100 * speed->aggregate_gb_per_s / speed->copy_gb_per_s)});
  }
  if (flags.json) {
    console.out << nlohmann::json{{"floats", flags.aggregate.floats},
                                  {"workers", flags.aggregate.workers},
                                  {"threads", pool.threads()},
                                  {"optimizers", answer}}
                << "\n";
  } else {
    console.out << table.Text()
                << fmt::format("\n{} floats from each of {} workers, {} threads; medians.\n",
                               CountText(flags.aggregate.floats), flags.aggregate.workers,
                               pool.threads());
  }
  return Status::Ok();
}

void AddComputeOptions(CLI::App* command, ComputeSetting& compute) {
  command->add_option("--threads", compute.threads, "0: all processors")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--backend", compute.backend, "auto, or one of this build's backends")
      ->capture_default_str();
  command->add_flag("--exact", compute.exact, "Only kernels that keep all digits: no Winograd");
}

}  // namespace

Command AddBenchCommand(CLI::App& app) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* command = app.add_subcommand("bench", "Measure weft's own parts on this machine");
  command->require_subcommand(1);
  CLI::App* planner = command->add_subcommand("planner", "The planners, from 19 to 10,000 units");
  planner->add_flag("--json", flags->json, "One JSON object on stdout");

  TrainBenchSetting& t = flags->train;
  CLI::App* train = command->add_subcommand("train", "Training steps on made-up images");
  train->add_option("--model", t.network.model, "Model of the zoo")->required();
  train->add_option("--batch", t.network.batch, "Images per step")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  train->add_option("--steps", t.steps, "Steps to measure, after one to warm up")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  train->add_option("--memory-budget", t.network.memory_budget,
                    "Most memory for the whole program, such as 600MiB");
  AddComputeOptions(train, t.network.compute);
  train->add_flag("--json", flags->json, "One JSON object on stdout");

  RuntimeBenchSetting& r = flags->runtime;
  CLI::App* runtime = command->add_subcommand(
      "runtime", "What taking part in a job costs a device beside computing, network apart");
  runtime->add_option("--model", r.network.model, "Model of the zoo")->required();
  runtime->add_option("--batch", r.network.batch, "Images per step")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  runtime->add_option("--steps", r.steps, "Steps of each kind to measure, after one to warm up")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  runtime->add_option("--replan-every", r.replan_rounds, "Rounds after which it plans anew")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}))
      ->capture_default_str();
  runtime->add_option("--strategy", r.strategy, "Of the job")->capture_default_str();
  AddComputeOptions(runtime, r.network.compute);
  runtime->add_flag("--json", flags->json, "One JSON object on stdout");

  KernelBenchSetting& k = flags->kernels;
  CLI::App* kernels = command->add_subcommand("kernels", "Every kernel on every layer of a model");
  kernels->add_option("--model", k.model, "Model of the zoo")->required();
  kernels->add_option("--batch", k.batch, "Images per step")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  AddComputeOptions(kernels, k.compute);
  kernels->add_flag("--json", flags->json, "One JSON object on stdout");

  bench::AggregateSetting& a = flags->aggregate;
  CLI::App* aggregate =
      command->add_subcommand("aggregate", "A server's sums and steps, beside a plain copy");
  aggregate->add_option("--floats", a.floats, "Of the server's part of the model")
      ->check(CLI::Range(int64_t{1}, int64_t{10'000'000'000}))
      ->capture_default_str();
  aggregate->add_option("--workers", a.workers, "That send gradients")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  aggregate->add_option("--threads", flags->aggregate_threads, "0: all processors")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  aggregate->add_flag("--json", flags->json, "One JSON object on stdout");
  CLI::App* transport =
      command->add_subcommand("transport", "Tensors through a broker, beside a bare TCP stream");
  AddTransportBenchFlags(*transport, flags->transport);
  return {command, [flags, train, runtime, kernels, aggregate, transport](Console& console) {
            flags->train.network.compute.times_file = DefaultTimesFile();
            flags->runtime.network.compute.times_file = DefaultTimesFile();
            flags->kernels.compute.times_file = DefaultTimesFile();
            if (train->parsed()) return RunTrainBench(*flags, console);
            if (runtime->parsed()) return RunRuntimeBench(*flags, console);
            if (kernels->parsed()) return RunKernelBench(*flags, console);
            if (aggregate->parsed()) return RunAggregateBench(*flags, console);
            if (transport->parsed()) return RunTransportBench(flags->transport, console);
            return RunPlannerBench(flags->json, console);
          }};
}

}  // namespace weft::apps
