// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/training_display.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "apps/terminal/text.h"
#include "apps/weft_edge/score_display.h"

namespace weft::apps {
std::string MemoryText(const train::MemoryTable& memory) {
  std::string text =
      fmt::format("memory: parameters {}, activations and gradients {} ({} if nothing were shared)",
                  BytesText(static_cast<int64_t>(memory.parameters)),
                  BytesText(static_cast<int64_t>(memory.activations)),
                  BytesText(static_cast<int64_t>(memory.activations_unshared)));
  if (memory.ops_computed_again > 0) {
    text += fmt::format("; {} layers are computed again in backward", memory.ops_computed_again);
  }
  return text;
}

TrainingDisplay::TrainingDisplay(Console& console, bool json, int64_t total_steps,
                                 const std::string& model, const train::MemoryTable& memory)
    : console_(console), json_(json), total_steps_(total_steps) {
  if (!json) console.out << model << ", " << MemoryText(memory) << "\n";
}

void TrainingDisplay::Show(const train::StepReport& report) {
  const double rate = static_cast<double>(report.images) * 1e9 /
                      static_cast<double>(std::max<int64_t>(1, report.total_ns));
  if (json_) {
    console_.out << nlohmann::json{{"step", report.step},
                                   {"loss", report.loss},
                                   {"images_per_s", rate}}
                 << std::endl;  // whoever reads along sees it now
    return;
  }
  const double accuracy = static_cast<double>(report.correct) /
                          static_cast<double>(std::max<int64_t>(1, report.images));
  const double keep = shown_ == 0 ? 0 : 0.95;
  loss_ = keep * loss_ + (1 - keep) * report.loss;
  accuracy_ = keep * accuracy_ + (1 - keep) * accuracy;
  images_per_s_ = keep * images_per_s_ + (1 - keep) * rate;
  ++shown_;
  const double left = static_cast<double>((total_steps_ - report.step) * report.images);
  const std::string numbers =
      fmt::format("{}/{}  epoch {}  loss {:.4f}  train {:.1f} %  {:.0f} images/s  {} left",
                  report.step, total_steps_, report.at.epoch + 1, loss_, 100 * accuracy_,
                  images_per_s_, ClockText(left / std::max(images_per_s_, 1e-9)));
  if (console_.terminal.live) {
    const int width = std::max(0, console_.terminal.columns - static_cast<int>(numbers.size()) - 3);
    const double share = static_cast<double>(report.step) / static_cast<double>(total_steps_);
    console_.out << "\r" << Bar(share, std::min(width, 30)) << " " << numbers << "\033[K"
                 << std::flush;
    drawn_ = true;
    return;
  }
  const int64_t every = std::max<int64_t>(1, total_steps_ / 20);
  if (report.step % every == 0 || report.step == total_steps_) console_.out << numbers << "\n";
}

void TrainingDisplay::ShowScore(int64_t epoch, const train::Score& score) {
  Leave();
  apps::ShowScore(console_.out, json_, epoch, score);
}

void TrainingDisplay::Leave() {
  if (drawn_) console_.out << "\n";
  drawn_ = false;
}

}  // namespace weft::apps
