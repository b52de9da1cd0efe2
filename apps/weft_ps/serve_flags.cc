// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_ps/serve_flags.h"

#include <CLI/CLI.hpp>

#include "apps/terminal/command_line.h"

namespace weft::apps {

void AddServeFlags(CLI::App& command, ServeFlags& flags) {
  AddBrokerFlags(command, flags.broker);
  command.add_option("--job", flags.job, "Name of the job; workers give the same");
  command.add_option("--state", flags.state, "Folder for what a killed server needs to go on");
  command.add_option("--model", flags.model, "Model of the zoo; `weft model` lists them");
  command.add_option("--input", flags.input,
                     "Images as CHANNELSxHEIGHTxWIDTH; the model's own if not given");
  command
      .add_option("--classes", flags.classes, "Classes of the data; the model's own if not given")
      ->check(CLI::Range(0, 1'000'000));
  command.add_option("--rounds", flags.rounds, "How many rounds to train")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000'000}));
  command.add_option("--workers", flags.workers, "The first round begins when so many have joined")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command
      .add_option("--quorum", flags.quorum,
                  "A round needs at least so many workers; 0: as many as --workers")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  command.add_option("--max-workers", flags.max_workers, "More are refused")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command
      .add_option("--round-deadline", flags.round_deadline_s,
                  "Seconds after which a round closes without the late; 0: never")
      ->check(FromZeroUpTo(1e6))
      ->capture_default_str();
  command
      .add_option("--worker-timeout", flags.worker_timeout_s,
                  "Seconds of silence after which a worker has left")
      ->check(PositiveUpTo(1e6))
      ->capture_default_str();
  command.add_option("--heartbeat", flags.heartbeat_s, "Seconds between signs of life")
      ->check(PositiveUpTo(3600))
      ->capture_default_str();
  command.add_option("--batch", flags.batch, "Images in a worker's step, unless it says otherwise")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  AddLearningFlags(command, flags.learning);
  command.add_option("--init", flags.init, "Start from the weights in this safetensors file");
  command.add_flag("--new-head", flags.new_head, "With --init: another number of classes is fine");
  command.add_option("--save", flags.save,
                     "Write the trained weights to this safetensors file; several servers cannot");
  command.add_option("--segment", flags.segment, "Largest message, such as 256KiB")
      ->capture_default_str();
  command
      .add_option("--window", flags.window, "Most bytes on the way to or from one worker at a time")
      ->capture_default_str();
  command.add_option("--slice", flags.slice,
                     "Sum in slices of about so many bytes; a part in " + std::to_string(kSlices) +
                         " of the model if not given");
  command
      .add_option("--strategy", flags.strategy,
                  "How transfers are cut and ordered: sequential, lbl, ibatch, dynacomm or weave")
      ->capture_default_str();
  command.add_option("--replan-every", flags.replan_every, "Rounds after which workers plan anew")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}))
      ->capture_default_str();
  command
      .add_option("--max-norm", flags.max_norm, "Refuse gradients with a larger norm; 0: take any")
      ->check(FromZeroUpTo(1e30))
      ->capture_default_str();
  command.add_option("--checkpoint-every", flags.checkpoint_every, "Rounds between checkpoints")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}))
      ->capture_default_str();
  command.add_option("--shard", flags.shard, "INDEX/COUNT where several servers share the model")
      ->capture_default_str();
  command.add_option("--threads", flags.threads, "For sums and updates; 0: all processors")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command
      .add_option("--metrics-port", flags.metrics_port, "Prometheus metrics on 127.0.0.1; 0: none")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command.add_option("--config", "TOML file with the same keys; what is typed wins")
      ->type_name("FILE");
}

}  // namespace weft::apps
