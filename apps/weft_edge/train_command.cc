// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/train_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/weft_edge/board_defaults.h"
#include "apps/weft_edge/joined_training.h"
#include "apps/weft_edge/local_training.h"

namespace weft::apps {

Command AddTrainCommand(CLI::App& app, const std::atomic<bool>& stop) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* train = app.add_subcommand("train", "Train a model of the zoo on this device's data");
  AddTrainFlags(*train, *flags);
  train->add_flag("--json", flags->json, "One JSON object per step on stdout");
  return {
      train, [flags, &stop](Console& console) {
        if (!flags->local) {
          if (flags->broker.broker.empty()) {
            return Status::InvalidInput(
                "give --broker HOST:PORT, --job and --worker to join a job, or --local to train "
                "alone");
          }
          if (Status status = TakeBoardDefaults(*flags); !status.ok()) return status;
          return TrainJoined(*flags, console, stop);
        }
        if (flags->data.empty()) {
          return Status::InvalidInput("--data KIND:PATH is missing; docs/data.md lists the kinds");
        }
        if (flags->model.empty()) {
          return Status::InvalidInput("--local needs --model to know what to train");
        }
        if (Status status = TakeBoardDefaults(*flags); !status.ok()) return status;
        return TrainLocally(*flags, console, stop);
      }};
}

}  // namespace weft::apps
