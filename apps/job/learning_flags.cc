// SPDX-License-Identifier: Apache-2.0
#include "apps/job/learning_flags.h"

#include <CLI/CLI.hpp>

#include "apps/terminal/command_line.h"

namespace weft::apps {

void AddLearningFlags(CLI::App& command, LearningFlags& flags) {
  command.add_option("--optimizer", flags.optimizer, "sgd or adamw")
      ->check(CLI::IsMember({"sgd", "adamw"}))
      ->capture_default_str();
  command.add_option("--lr", flags.learning_rate, "Learning rate before the schedule")
      ->check(PositiveUpTo(1e6))
      ->capture_default_str();
  command.add_option("--momentum", flags.momentum, "SGD's momentum")
      ->check(FromZeroUpTo(1))
      ->capture_default_str();
  command.add_flag("--nesterov", flags.nesterov, "SGD looks ahead along the momentum");
  command.add_option("--weight-decay", flags.weight_decay, "Pull of all parameters towards 0")
      ->check(FromZeroUpTo(1e6))
      ->capture_default_str();
  command
      .add_option("--label-smoothing", flags.label_smoothing, "Share of the target given to all")
      ->check(FromZeroUpTo(1))
      ->capture_default_str();
  command
      .add_option("--schedule", flags.schedule,
                  "constant, cosine or step:STEPS:FACTOR, with +warmup:STEPS behind")
      ->capture_default_str();
  command.add_option("--seed", flags.seed, "Decides every random choice")->capture_default_str();
}

Result<train::Optimizer> MakeOptimizer(const LearningFlags& flags) {
  if (flags.optimizer == "adamw") {
    return train::Optimizer::Create(train::AdamW{.weight_decay = flags.weight_decay});
  }
  return train::Optimizer::Create(train::Sgd{
      .momentum = flags.momentum, .weight_decay = flags.weight_decay, .nesterov = flags.nesterov});
}

}  // namespace weft::apps
