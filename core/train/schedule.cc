// SPDX-License-Identifier: Apache-2.0
#include "core/train/schedule.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

namespace weft::train {
namespace {

std::vector<std::string_view> Split(std::string_view text, char at) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const size_t end = text.find(at);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

// The whole of `text` as a number; false if it is anything else.
template <typename Number>
bool ReadNumber(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end;
}

Status Mistake(std::string_view text, const std::string& what) {
  return Status::InvalidInput("learning-rate schedule '" + std::string(text) + "': " + what);
}

}  // namespace

double Schedule::FactorAt(int64_t step, int64_t total_steps) const {
  assert(step >= 0);
  if (step < warmup_steps) return static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  const int64_t since = step - warmup_steps;
  switch (decay) {
    case Decay::kConstant:
      return 1;
    case Decay::kStep: {
      const int64_t drops = since / step_every;
      return std::pow(gamma, static_cast<double>(drops));
    }
    case Decay::kCosine:
      break;
  }
  const int64_t length = std::max<int64_t>(total_steps - warmup_steps, 1);
  if (since >= length) return 0;
  const double done = static_cast<double>(since) / static_cast<double>(length);
  return (1 + std::cos(std::numbers::pi * done)) / 2;
}

Result<Schedule> ParseSchedule(std::string_view text) {
  Schedule schedule;
  const std::vector<std::string_view> parts = Split(text, '+');
  const std::vector<std::string_view> decay = Split(parts[0], ':');
  if (decay[0] == "step") {
    schedule.decay = Decay::kStep;
    if (decay.size() != 3 || !ReadNumber(decay[1], schedule.step_every) ||
        !ReadNumber(decay[2], schedule.gamma)) {
      return Mistake(text, "write step:<steps>:<factor>, such as step:3000:0.1");
    }
    if (schedule.step_every < 1) return Mistake(text, "the steps between drops must be 1 or more");
    if (!(schedule.gamma > 0 && schedule.gamma <= 1)) {
      return Mistake(text, "the factor must be above 0 and at most 1");
    }
  } else if (parts[0] == "cosine") {
    schedule.decay = Decay::kCosine;
  } else if (parts[0] != "constant") {
    return Mistake(text, "write constant, step:<steps>:<factor> or cosine, then +warmup:<steps>");
  }

  if (parts.size() == 1) return schedule;
  const std::vector<std::string_view> warmup = Split(parts[1], ':');
  if (parts.size() > 2 || warmup.size() != 2 || warmup[0] != "warmup" ||
      !ReadNumber(warmup[1], schedule.warmup_steps)) {
    return Mistake(text, "only +warmup:<steps> may follow, once, such as +warmup:500");
  }
  if (schedule.warmup_steps < 0) return Mistake(text, "the warm-up cannot have fewer than 0 steps");
  return schedule;
}

}  // namespace weft::train
