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
  TrainFlags& f = *flags;
  CLI::App* train = app.add_subcommand("train", "Train a model of the zoo on this device's data");
  train->add_flag("--local", f.local, "Train alone, without a server");
  AddBrokerFlags(*train, f.broker);
  train->add_option("--job", f.job, "Join this job; the server says what to train");
  train->add_option("--worker", f.worker, "This device's name in the job");
  train->add_option("--share", f.share, "INDEX/COUNT of the data, where devices share one set")
      ->capture_default_str();
  train->add_option("--shards", f.shards, "Servers of the job")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  train
      ->add_option("--compute", f.compute,
                   "real, or replay:PROFILE to sleep a profile's times while all else is real")
      ->capture_default_str();
  train->add_option("--trace", f.trace,
                    "Write a timeline for Perfetto: what was done when, and what was predicted");
  train->add_option("--profile-out", f.profile_out,
                    "Write what units and link cost, for `weft plan --profile`");
  train->add_option("--model", f.model, "Alone: model of the zoo; `weft model` lists them");
  train->add_option("--data", f.data, "KIND:PATH, such as mnist:DIR or cifar10:DIR; docs/data.md");
  train
      ->add_option("--batch", f.batch,
                   "Images per step; the board's for the model, or what the job says")
      ->check(CLI::Range(1, 65536));
  auto* epochs = train->add_option("--epochs", f.epochs, "How often to go through the data")
                     ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}));
  train->add_option("--steps", f.steps, "How many steps to train, instead of --epochs")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000'000}))
      ->excludes(epochs);
  train->add_option("--optimizer", f.optimizer, "sgd or adamw")
      ->check(CLI::IsMember({"sgd", "adamw"}))
      ->capture_default_str();
  train->add_option("--lr", f.learning_rate, "Learning rate before the schedule")
      ->check(PositiveUpTo(1e6))
      ->capture_default_str();
  train->add_option("--momentum", f.momentum, "SGD's momentum")
      ->check(FromZeroUpTo(1))
      ->capture_default_str();
  train->add_flag("--nesterov", f.nesterov, "SGD looks ahead along the momentum");
  train->add_option("--weight-decay", f.weight_decay, "Pull of all parameters towards 0")
      ->check(FromZeroUpTo(1e6))
      ->capture_default_str();
  train->add_option("--label-smoothing", f.label_smoothing, "Share of the target given to all")
      ->check(FromZeroUpTo(1))
      ->capture_default_str();
  train
      ->add_option("--schedule", f.schedule,
                   "constant, cosine or step:STEPS:FACTOR, with +warmup:STEPS behind")
      ->capture_default_str();
  train->add_option("--seed", f.seed, "Decides every random choice")->capture_default_str();
  train->add_option("--board", f.board, "auto, or the profile of boards/ to take defaults from")
      ->capture_default_str();
  train->add_option("--threads", f.threads, "0: those the board's profile uses")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  train
      ->add_option("--backend", f.backend,
                   "auto: the board's; or of this build's, the preferred first: onednn,ref")
      ->capture_default_str();
  train->add_flag("--exact", f.exact, "Only kernels that keep all digits: no Winograd");
  train->add_option("--init", f.init, "Start from the weights in this safetensors file");
  train->add_flag("--new-head", f.new_head, "With --init: another number of classes is fine");
  train->add_option("--save", f.save, "Write the trained weights to this safetensors file");
  train->add_option("--checkpoint", f.checkpoint, "Folder for what a killed run needs to go on");
  train->add_option("--checkpoint-every", f.checkpoint_every, "Steps between checkpoints")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}))
      ->capture_default_str();
  train->add_flag("--resume", f.resume, "Go on from --checkpoint if there is one");
  train->add_flag("--no-shuffle", f.no_shuffle, "Samples in the order of the set");
  train->add_flag("--no-augment", f.no_augment, "Images as they are, only scaled and normalised");
  train->add_flag("--eval", f.eval, "Measure accuracy on the test set after every epoch");
  train->add_option("--memory-budget", f.memory_budget,
                    "Most memory to use, such as 600MiB, instead of the board's share; "
                    "recomputes activations to fit");
  train->add_flag("--explain", f.explain, "Show who computes what, and how fast, and end");
  train->add_flag("--json", f.json, "One JSON object per step on stdout");
  train->add_option("--config", "TOML file with the same keys; what is typed wins");
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
