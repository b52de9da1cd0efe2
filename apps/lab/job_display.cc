// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/job_display.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "apps/terminal/text.h"

namespace weft::apps {
namespace {

constexpr int64_t kFrameNs = 200'000'000;
constexpr int kLines = 20;  // where nobody watches

}  // namespace

JobDisplay::JobDisplay(const std::string& title, const std::string& hint, Mode mode,
                       Console& console)
    : title_(title),
      hint_(hint),
      mode_(mode),
      live_(mode == Mode::kPeople && console.terminal.live),
      console_(console),
      region_(console.out) {
  if (mode_ == Mode::kPeople && !live_) console_.out << title_ << std::endl;
}

int JobDisplay::MsToNextFrame() const {
  constexpr int64_t kLongest = 1'000;
  const int64_t ms = live_ ? (next_frame_ns_ - clock_.NowNs()) / 1'000'000 : kLongest;
  return static_cast<int>(std::clamp<int64_t>(ms, 0, kLongest));
}

void JobDisplay::Update(const JobState& state) {
  const int64_t done = state.rounds_done();
  if (done > 0 && first_round_ns_ == 0) first_round_ns_ = clock_.NowNs();
  if (live_) {
    if (clock_.NowNs() >= next_frame_ns_) Draw(state, hint_);
    return;
  }
  if (mode_ == Mode::kSilent) return;
  const int64_t every = mode_ == Mode::kRounds ? 1 : std::max<int64_t>(1, state.rounds / kLines);
  if (done / every == shown_ / every) return;
  shown_ = done;
  PrintRound(state);
}

void JobDisplay::Finish(const JobState& state) {
  if (live_) Draw(state, "");
}

void JobDisplay::PrintRound(const JobState& state) const {
  const std::optional<double> loss = state.loss();
  if (mode_ == Mode::kRounds) {
    nlohmann::json line = {
        {"round", state.rounds_done()}, {"loss", nullptr}, {"seconds", seconds()}};
    if (loss) line["loss"] = *loss;
    console_.out << line << std::endl;
    return;
  }
  std::string line = fmt::format("round {} of {}", state.rounds_done(), state.rounds);
  if (loss) line += fmt::format("  loss {:.4f}", *loss);
  if (const std::optional<double> rate = state.images_per_s()) {
    line += fmt::format("  {} images/s", CountText(std::lround(*rate)));
  }
  console_.out << line << "  " << DurationText(seconds()) << std::endl;
}

void JobDisplay::Draw(const JobState& state, const std::string& hint) {
  const WindowSize window = ThisWindow();
  const int64_t now = clock_.NowNs();
  const double training =
      first_round_ns_ == 0 ? 0 : static_cast<double>(now - first_round_ns_) / 1e9;
  region_.Draw(JobScreen(state, {.title = title_,
                                 .seconds = seconds(),
                                 .training_seconds = training,
                                 .window = window,
                                 .colour = console_.terminal.colour,
                                 .hint = hint}),
               window.columns);
  next_frame_ns_ = now + kFrameNs;
}

}  // namespace weft::apps
