// SPDX-License-Identifier: Apache-2.0
// `weft link`: two network namespaces with an emulated link between them, for as long as somebody
// wants, or as a program runs.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "apps/terminal/text.h"
#include "apps/weft/commands.h"
#include "apps/weft/link_script_file.h"
#include "apps/weft/program.h"
#include "apps/weft/stop_signals.h"
#include "core/clock.h"
#include "net/link/link_pair.h"
#include "net/link/link_script.h"

namespace weft::apps {
namespace {

using net::LinkDirection;
using net::LinkSetting;

// How long a program has to end once it is asked to.
constexpr int64_t kHangUpMs = 5'000;

struct LinkFlags {
  double mbps = 0;
  double mbps_up = -1;  // as mbps
  double mbps_down = -1;
  double rtt_ms = 0;
  double jitter_ms = 0;
  double loss_percent = 0;
  double queue_kb = 0;
  int mtu = 1500;
  uint64_t seed = 1;
  std::string script;
  std::string name = "weft";
  bool json = false;
  std::vector<std::string> command;
};

Result<LinkSetting> SettingOf(const LinkFlags& flags, double mbps) {
  const Result<int64_t> rate = net::RateOfMbps(mbps);
  if (!rate.ok()) return rate.status().WithContext("--mbps");
  return LinkSetting{.rate_bps = *rate,
                     .delay_ns = net::DelayOfMs(flags.rtt_ms / 2).value(),
                     .jitter_ns = net::DelayOfMs(flags.jitter_ms).value(),
                     .loss = flags.loss_percent / 100,
                     .queue_bytes = net::BytesOfKb(flags.queue_kb).value()};
}

std::string SettingText(const LinkSetting& setting) {
  std::string text = setting.rate_bps == 0
                         ? "no limit"
                         : fmt::format("{:g} Mb/s", static_cast<double>(setting.rate_bps) / 1e6);
  text += ", " + TimeText(setting.delay_ns);
  if (setting.jitter_ns > 0) text += " to " + TimeText(setting.delay_ns + setting.jitter_ns);
  if (setting.loss > 0) text += fmt::format(", {:g} % lost", 100 * setting.loss);
  if (setting.rate_bps > 0) {
    const int64_t queue =
        setting.queue_bytes > 0 ? setting.queue_bytes : net::DefaultQueueBytes(setting);
    text += fmt::format(", queue {} KB", queue / 1024);
  }
  return text;
}

nlohmann::json CountersJson(const net::LinkCounters& counters) {
  return {{"packets", counters.packets},
          {"bytes", counters.bytes},
          {"queue_dropped", counters.queue_dropped},
          {"lost", counters.lost},
          {"unread", counters.unread ? nlohmann::json(*counters.unread) : nlohmann::json()},
          {"mean_late_ns", counters.mean_late_ns},
          {"max_late_ns", counters.max_late_ns},
          {"late", counters.late}};
}

// A link that runs, and what is to happen to it.
class LinkRun {
 public:
  LinkRun(net::LinkPair pair, const LinkSetting& up, const LinkSetting& down,
          std::vector<net::LinkChange> changes)
      : pair_(std::move(pair)),
        up_(up),
        down_(down),
        changes_(std::move(changes)),
        began_ns_(clock_.NowNs()) {}

  const net::LinkPair& pair() const { return pair_; }

  // Until somebody stops it, or `program`, which may be nullptr, ends. Its exit code then.
  Result<int> Wait(const StopSignals& stops, Program* program) {
    while (true) {
      if (Status status = ChangeWhatIsDue(); !status.ok()) return status;
      pollfd files[] = {
          {.fd = stops.file(), .events = POLLIN, .revents = 0},
          {.fd = program != nullptr ? program->ended_file() : -1, .events = POLLIN, .revents = 0}};
      poll(files, std::size(files), MsToNextChange());
      if (program != nullptr) {
        if (const std::optional<int> code = program->Wait(0)) return *code;
      }
      if (const std::optional<StopSignals::Stop> stop = stops.Take()) {
        return program != nullptr ? Stop(*stop, *program) : kExitOk;
      }
    }
  }

  int64_t seconds_ns() const { return clock_.NowNs() - began_ns_; }

 private:
  Status ChangeWhatIsDue() {
    for (; next_ < changes_.size() && changes_[next_].at_ns <= seconds_ns(); ++next_) {
      const net::LinkChange& change = changes_[next_];
      if (change.up) up_ = net::Changed(up_, change);
      if (change.down) down_ = net::Changed(down_, change);
      for (const auto& [changes, direction, setting] :
           {std::tuple{change.up, LinkDirection::kUp, &up_},
            std::tuple{change.down, LinkDirection::kDown, &down_}}) {
        if (!changes) continue;
        if (Status status = pair_.emulator->Change(0, direction, *setting); !status.ok()) {
          return status;
        }
      }
    }
    return Status::Ok();
  }

  // For poll: never early, or it would not sleep at all.
  int MsToNextChange() const {
    if (next_ == changes_.size()) return -1;
    const int64_t ns = changes_[next_].at_ns - seconds_ns();
    return static_cast<int>(std::clamp<int64_t>((ns + 999'999) / 1'000'000, 0, 1'000'000));
  }

  static int Stop(const StopSignals::Stop& stop, Program& program) {
    if (!stop.typed) program.Signal(stop.number);  // else it has heard already
    if (const std::optional<int> code = program.Wait(kHangUpMs)) return *code;
    program.Signal(SIGKILL);
    return program.Wait(kHangUpMs).value_or(128 + SIGKILL);
  }

  const SteadyClock clock_;
  net::LinkPair pair_;
  LinkSetting up_;
  LinkSetting down_;
  const std::vector<net::LinkChange> changes_;
  const int64_t began_ns_;
  size_t next_ = 0;
};

void Report(const LinkRun& run, bool as_json, Console& console) {
  const net::LinkEmulator& emulator = *run.pair().emulator;
  const double seconds = static_cast<double>(run.seconds_ns()) / 1e9;
  const double processor_s = static_cast<double>(emulator.processor_ns()) / 1e9;
  const net::LinkCounters up = emulator.counters(0, LinkDirection::kUp);
  const net::LinkCounters down = emulator.counters(0, LinkDirection::kDown);
  if (as_json) {
    console.out << nlohmann::json{{"seconds", seconds},
                                  {"processor_s", processor_s},
                                  {"exit_code", console.exit_code},
                                  {"up", CountersJson(up)},
                                  {"down", CountersJson(down)}}
                << "\n";
    return;
  }
  Table table({"", "packets", "bytes", "queue full", "lost", "unread", "late, mean", "most"});
  for (const auto& [name, counters] : {std::pair{"up", &up}, std::pair{"down", &down}}) {
    table.Add({name, CountText(counters->packets), BytesText(counters->bytes),
               CountText(counters->queue_dropped), CountText(counters->lost),
               counters->unread ? CountText(*counters->unread) : "-",
               TimeText(counters->mean_late_ns), TimeText(counters->max_late_ns)});
  }
  console.out << table.Text()
              << fmt::format("\n{:.1f} s, of which the emulator took {:.1f} % of a processor\n",
                             seconds, 100 * processor_s / std::max(seconds, 1e-9));
}

Status RunLink(const LinkFlags& flags, Console& console) {
  const Result<LinkSetting> up = SettingOf(flags, flags.mbps_up < 0 ? flags.mbps : flags.mbps_up);
  if (!up.ok()) return up.status();
  const Result<LinkSetting> down =
      SettingOf(flags, flags.mbps_down < 0 ? flags.mbps : flags.mbps_down);
  if (!down.ok()) return down.status();
  Result<std::vector<net::LinkChange>> changes = ReadLinkScript(flags.script);
  if (!changes.ok()) return changes.status();

  const StopSignals stops;  // first: what is made below is put back whatever comes
  Result<net::LinkPair> pair = net::LinkPair::Create(flags.name, *up, *down, flags.mtu, flags.seed);
  if (!pair.ok()) return pair.status();
  console.err << fmt::format(
      "{0}-a (edge) {1}, {0}-b (cloud) {2}; up {3}; down {4}\n"
      "enter with: ip netns exec {0}-a COMMAND{5}\n",
      flags.name, net::LinkPair::kEdgeAddress, net::LinkPair::kCloudAddress, SettingText(*up),
      SettingText(*down), flags.command.empty() ? "; Ctrl-C ends it" : "");
  console.err.flush();
  LinkRun run(std::move(*pair), *up, *down, std::move(*changes));
  std::unique_ptr<Program> program;
  if (!flags.command.empty()) {
    // Its output must not end up beside our JSON.
    Result<std::unique_ptr<Program>> started =
        Program::Start({.words = flags.command,
                        .place = run.pair().edge.get(),
                        .out = flags.json ? STDERR_FILENO : -1});
    if (!started.ok()) return started.status();
    program = std::move(*started);
  }
  const Result<int> code = run.Wait(stops, program.get());
  if (!code.ok()) return code.status();
  console.exit_code = *code;
  Report(run, flags.json, console);
  return run.pair().emulator->health();
}

}  // namespace

Command AddLinkCommand(CLI::App& app) {
  auto flags = std::make_shared<LinkFlags>();
  LinkFlags& f = *flags;
  CLI::App* command = app.add_subcommand(
      "link", "Two network namespaces and an emulated link between them; needs root");
  command->add_option("--mbps", f.mbps, "Rate of each direction in Mb/s; 0: no limit")
      ->check(FromZeroUpTo(100'000))
      ->capture_default_str();
  command->add_option("--mbps-up", f.mbps_up, "From edge to cloud, if it differs")
      ->check(FromZeroUpTo(100'000));
  command->add_option("--mbps-down", f.mbps_down, "From cloud to edge, if it differs")
      ->check(FromZeroUpTo(100'000));
  command->add_option("--rtt-ms", f.rtt_ms, "Round trip of an idle link, half of it each way")
      ->check(FromZeroUpTo(120'000))
      ->capture_default_str();
  command->add_option("--jitter-ms", f.jitter_ms, "Each packet takes up to so much longer")
      ->check(FromZeroUpTo(60'000))
      ->capture_default_str();
  command->add_option("--loss", f.loss_percent, "Percent of packets that are lost")
      ->check(FromZeroUpTo(100))
      ->capture_default_str();
  command
      ->add_option("--queue-kb", f.queue_kb,
                   "What may wait for the line; 0: a round trip's worth and 256")
      ->check(FromZeroUpTo(static_cast<double>(net::kMostLinkQueueBytes) / 1024))
      ->capture_default_str();
  command->add_option("--mtu", f.mtu, "Largest packet in bytes")
      ->check(CLI::Range(576, 9000))
      ->capture_default_str();
  command->add_option("--seed", f.seed, "Of loss and jitter")->capture_default_str();
  command->add_option("--script", f.script,
                      "A file of changes: at SECONDS up|down|both mbps=… rtt-ms=… loss=…");
  command->add_option("--name", f.name, "The namespaces are NAME-a and NAME-b")
      ->capture_default_str();
  command->add_flag("--json", f.json, "One JSON object on stdout at the end");
  command->add_option("command", f.command,
                      "After --: a program to run in NAME-a; the link ends with it");
  return {command, [flags](Console& console) { return RunLink(*flags, console); }};
}

}  // namespace weft::apps
