// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/train_flags.h"

#include <CLI/CLI.hpp>

#include "apps/terminal/command_line.h"

namespace weft::apps {

void AddTrainFlags(CLI::App& command, TrainFlags& flags) {
  command.add_flag("--local", flags.local, "Train alone, without a server");
  AddBrokerFlags(command, flags.broker);
  command.add_option("--job", flags.job, "Join this job; the server says what to train");
  command.add_option("--worker", flags.worker, "This device's name in the job");
  command
      .add_option("--share", flags.share, "INDEX/COUNT of the data, where devices share one set")
      ->capture_default_str();
  command.add_option("--shards", flags.shards, "Servers of the job")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      .add_option("--compute", flags.compute,
                  "real, or replay:PROFILE to sleep a profile's times while all else is real")
      ->capture_default_str();
  command.add_option("--trace", flags.trace,
                     "Write a timeline of the last " + std::to_string(kTracedRounds) +
                         " rounds for Perfetto: what was done when, and what was predicted");
  command.add_option("--profile-out", flags.profile_out,
                     "Write what units and link cost, for `weft plan --profile`");
  command.add_option("--model", flags.model, "Alone: model of the zoo; `weft model` lists them");
  command.add_option("--data", flags.data,
                     "KIND:PATH, such as mnist:DIR or cifar10:DIR; docs/data.md");
  command
      .add_option("--batch", flags.batch,
                  "Images per step; the board's for the model, or what the job says")
      ->check(CLI::Range(1, 65536));
  auto* epochs = command.add_option("--epochs", flags.epochs, "How often to go through the data")
                     ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}));
  command.add_option("--steps", flags.steps, "How many steps to train, instead of --epochs")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000'000}))
      ->excludes(epochs);
  AddLearningFlags(command, flags.learning);
  command
      .add_option("--board", flags.board, "auto, or the profile of boards/ to take defaults from")
      ->capture_default_str();
  command.add_option("--threads", flags.threads, "0: those the board's profile uses")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command
      .add_option("--backend", flags.backend,
                  "auto: the board's; or of this build's, the preferred first: onednn,ref")
      ->capture_default_str();
  command.add_flag("--exact", flags.exact, "Only kernels that keep all digits: no Winograd");
  command.add_option("--init", flags.init, "Start from the weights in this safetensors file");
  command.add_flag("--new-head", flags.new_head, "With --init: another number of classes is fine");
  command.add_option("--save", flags.save, "Write the trained weights to this safetensors file");
  command.add_option("--checkpoint", flags.checkpoint,
                     "Folder for what a killed run needs to go on");
  command.add_option("--checkpoint-every", flags.checkpoint_every, "Steps between checkpoints")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}))
      ->capture_default_str();
  command.add_flag("--resume", flags.resume, "Go on from --checkpoint if there is one");
  command.add_flag("--no-shuffle", flags.no_shuffle, "Samples in the order of the set");
  command.add_flag("--no-augment", flags.no_augment,
                   "Images as they are, only scaled and normalised");
  command.add_flag("--eval", flags.eval, "Measure accuracy on the test set after every epoch");
  command.add_option("--memory-budget", flags.memory_budget,
                     "Most memory to use, such as 600MiB, instead of the board's share; "
                     "recomputes activations to fit");
  command.add_flag("--explain", flags.explain, "Show who computes what, and how fast, and end");
  command.add_option("--config", "TOML file with the same keys; what is typed wins")
      ->type_name("FILE");
}

}  // namespace weft::apps
