// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/round_display.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "apps/terminal/text.h"
#include "apps/weft_edge/score_display.h"

namespace weft::apps {
namespace {

double Ms(int64_t ns) { return static_cast<double>(ns) / 1e6; }

double Mbps(const sched::LinkCost& cost) { return static_cast<double>(cost.bytes_per_s) * 8 / 1e6; }

}  // namespace

RoundDisplay::RoundDisplay(Console& console, const Setting& setting)
    : console_(console), setting_(setting) {
  if (setting.json) return;
  console.out << fmt::format("{}, {} rounds, strategy {}{}\n", setting.model, setting.rounds,
                             setting.strategy,
                             setting.compute == "real" ? "" : ", computing is replayed");
}

void RoundDisplay::Show(const train::StepReport& step, const sched::RoundReport& round,
                        const net::WorkerSession::Traffic& traffic,
                        std::optional<int64_t> late_ns) {
  const auto total = static_cast<double>(std::max<int64_t>(1, round.total_ns));
  const double rate = static_cast<double>(step.images) * 1e9 / total;
  const sched::Portions& parts = round.portions;
  if (setting_.json) {
    nlohmann::json line = {{"step", step.step},
                           {"round", round.round},
                           {"loss", step.loss},
                           {"images", step.images},
                           {"images_per_s", rate},
                           {"strategy", setting_.strategy},
                           {"compute", setting_.compute},
                           {"total_ms", Ms(round.total_ns)},
                           {"compute_ms", Ms(parts.computing_alone_ns)},
                           {"overlap_ms", Ms(parts.overlapping_ns)},
                           {"wait_ms", Ms(parts.communicating_alone_ns)},
                           {"segments_up", round.push_segments},
                           {"segments_down", round.pull_segments},
                           {"messages_up", traffic.segments_up - before_.segments_up},
                           {"messages_down", traffic.segments_down - before_.segments_down},
                           {"bytes_up", traffic.bytes_up - before_.bytes_up},
                           {"bytes_down", traffic.bytes_down - before_.bytes_down},
                           {"latency_ms", Ms(round.round_trip_ns)},
                           {"planned", round.planned}};
    if (late_ns) line["late_ms"] = Ms(*late_ns);
    if (round.predicted_ns > 0) line["predicted_ms"] = Ms(round.predicted_ns);
    if (round.bound_ns > 0) line["bound_ms"] = Ms(round.bound_ns);
    if (round.up) {
      line["delta_up_us"] = Ms(round.up->overhead_ns) * 1000;
      line["mbps_up"] = Mbps(*round.up);
    }
    if (round.down) {
      line["delta_down_us"] = Ms(round.down->overhead_ns) * 1000;
      line["mbps_down"] = Mbps(*round.down);
    }
    before_ = traffic;
    console_.out << line << std::endl;  // whoever reads along sees it now
    return;
  }
  const double keep = shown_ == 0 ? 0 : 0.9;
  loss_ = keep * loss_ + (1 - keep) * step.loss;
  round_s_ = keep * round_s_ + (1 - keep) * total / 1e9;
  ++shown_;
  const auto share = [&](int64_t ns) { return 100 * static_cast<double>(ns) / total; };
  std::string numbers = fmt::format(
      "{}/{}  loss {:.4f}  {:.0f} images/s  computing {:.0f} %, overlapping {:.0f} %, waiting "
      "{:.0f} %  up {}, down {}",
      step.step, setting_.rounds, loss_, static_cast<double>(step.images) / round_s_,
      share(parts.computing_alone_ns), share(parts.overlapping_ns),
      share(parts.communicating_alone_ns), BytesText(traffic.bytes_up - before_.bytes_up),
      BytesText(traffic.bytes_down - before_.bytes_down));
  if (round.up && round.down) {
    numbers += fmt::format("  Δt {} and {}", TimeText(round.up->overhead_ns),
                           TimeText(round.down->overhead_ns));
  }
  numbers += fmt::format("  {} left",
                         ClockText(static_cast<double>(setting_.rounds - step.step) * round_s_));
  before_ = traffic;
  if (console_.terminal.live) {
    // "Δ" takes two bytes and one column.
    const int width = console_.terminal.columns - static_cast<int>(numbers.size()) - 2;
    const double done = static_cast<double>(step.step) / static_cast<double>(setting_.rounds);
    console_.out << "\r" << Bar(done, std::clamp(width, 0, 30)) << (width > 0 ? " " : "") << numbers
                 << "\033[K" << std::flush;
    drawn_ = true;
    return;
  }
  const int64_t every = std::max<int64_t>(1, setting_.rounds / 20);
  if (step.step % every == 0 || step.step == setting_.rounds) console_.out << numbers << "\n";
}

void RoundDisplay::ShowScore(int64_t epoch, const train::Score& score) {
  Leave();
  apps::ShowScore(console_.out, setting_.json, epoch, score);
}

void RoundDisplay::Leave() {
  if (drawn_) console_.out << "\n";
  drawn_ = false;
}

}  // namespace weft::apps
