// SPDX-License-Identifier: Apache-2.0
// What a person, or a program, sees of a running training.
#pragma once

#include <string>

#include "apps/terminal/console.h"
#include "core/train/trainer.h"

namespace weft::apps {

std::string MemoryText(const train::MemoryTable& memory);

class TrainingDisplay {
 public:
  TrainingDisplay(Console& console, bool json, int64_t total_steps, const std::string& model,
                  const train::MemoryTable& memory);

  // After each step: a JSON line, or the progress line drawn anew, or, where nobody watches, a
  // line now and then.
  void Show(const train::StepReport& report);
  void ShowScore(int64_t epoch, const train::Score& score);
  // Ends the progress line, so that other text can follow.
  void Leave();

 private:
  Console& console_;
  const bool json_;
  const int64_t total_steps_;
  bool drawn_ = false;
  // Smoothed over the last steps.
  double loss_ = 0;
  double accuracy_ = 0;
  double images_per_s_ = 0;
  int64_t shown_ = 0;
};

}  // namespace weft::apps
