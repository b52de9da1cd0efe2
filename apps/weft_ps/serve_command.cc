// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_ps/serve_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/weft_ps/serving.h"

namespace weft::apps {

Command AddServeCommand(CLI::App& app, const std::atomic<bool>& stop) {
  auto flags = std::make_shared<ServeFlags>();
  ServeFlags& f = *flags;
  CLI::App* serve = app.add_subcommand("serve", "Run a job: collect gradients, send parameters");
  AddBrokerFlags(*serve, f.broker);
  serve->add_option("--job", f.job, "Name of the job; workers give the same")->required();
  serve->add_option("--state", f.state, "Folder for what a killed server needs to go on")
      ->required();
  serve->add_option("--model", f.model, "Model of the zoo; `weft model` lists them")->required();
  serve->add_option("--input", f.input,
                    "Images as CHANNELSxHEIGHTxWIDTH; the model's own if not given");
  serve->add_option("--classes", f.classes, "Classes of the data; the model's own if not given")
      ->check(CLI::Range(0, 1'000'000));
  serve->add_option("--rounds", f.rounds, "How many rounds to train")
      ->required()
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000'000}));
  serve->add_option("--workers", f.workers, "The first round begins when so many have joined")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  serve
      ->add_option("--quorum", f.quorum,
                   "A round needs at least so many workers; 0: as many as --workers")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  serve->add_option("--max-workers", f.max_workers, "More are refused")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  serve
      ->add_option("--round-deadline", f.round_deadline_s,
                   "Seconds after which a round closes without the late; 0: never")
      ->check(FromZeroUpTo(1e6))
      ->capture_default_str();
  serve
      ->add_option("--worker-timeout", f.worker_timeout_s,
                   "Seconds of silence after which a worker has left")
      ->check(PositiveUpTo(1e6))
      ->capture_default_str();
  serve->add_option("--heartbeat", f.heartbeat_s, "Seconds between signs of life")
      ->check(PositiveUpTo(3600))
      ->capture_default_str();
  serve->add_option("--batch", f.batch, "Images in a worker's step, unless it says otherwise")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  serve->add_option("--optimizer", f.optimizer, "sgd or adamw")
      ->check(CLI::IsMember({"sgd", "adamw"}))
      ->capture_default_str();
  serve->add_option("--lr", f.learning_rate, "Learning rate before the schedule")
      ->check(PositiveUpTo(1e6))
      ->capture_default_str();
  serve->add_option("--momentum", f.momentum, "SGD's momentum")
      ->check(FromZeroUpTo(1))
      ->capture_default_str();
  serve->add_flag("--nesterov", f.nesterov, "SGD looks ahead along the momentum");
  serve->add_option("--weight-decay", f.weight_decay, "Pull of all parameters towards 0")
      ->check(FromZeroUpTo(1e6))
      ->capture_default_str();
  serve->add_option("--label-smoothing", f.label_smoothing, "Share of the target given to all")
      ->check(FromZeroUpTo(1))
      ->capture_default_str();
  serve
      ->add_option("--schedule", f.schedule,
                   "constant, cosine or step:STEPS:FACTOR, with +warmup:STEPS behind")
      ->capture_default_str();
  serve->add_option("--seed", f.seed, "Decides every random choice")->capture_default_str();
  serve->add_option("--init", f.init, "Start from the weights in this safetensors file");
  serve->add_flag("--new-head", f.new_head, "With --init: another number of classes is fine");
  serve->add_option("--save", f.save, "Write the trained weights to this safetensors file");
  serve->add_option("--segment", f.segment, "Largest message, such as 256KiB")
      ->capture_default_str();
  serve->add_option("--window", f.window, "Most bytes on the way to or from one worker at a time")
      ->capture_default_str();
  serve->add_option(
      "--slice", f.slice,
      "Sum in slices of about so many bytes; a part in 512 of the model if not given");
  serve
      ->add_option("--strategy", f.strategy,
                   "How transfers are cut and ordered: sequential, lbl, ibatch, dynacomm or weave")
      ->capture_default_str();
  serve->add_option("--replan-every", f.replan_every, "Rounds after which workers plan anew")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}))
      ->capture_default_str();
  serve->add_option("--max-norm", f.max_norm, "Refuse gradients with a larger norm; 0: take any")
      ->check(FromZeroUpTo(1e30))
      ->capture_default_str();
  serve->add_option("--checkpoint-every", f.checkpoint_every, "Rounds between checkpoints")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}))
      ->capture_default_str();
  serve->add_option("--shard", f.shard, "INDEX/COUNT where several servers share the model")
      ->capture_default_str();
  serve->add_option("--threads", f.threads, "For sums and updates; 0: all processors")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  serve->add_option("--metrics-port", f.metrics_port, "Prometheus metrics on 127.0.0.1; 0: none")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  serve->add_flag("--json", f.json, "One JSON object per round on stdout");
  serve->add_option("--config", "TOML file with the same keys; what is typed wins");
  return {serve, [flags, &stop](Console& console) { return Serve(*flags, console, stop); }};
}

}  // namespace weft::apps
