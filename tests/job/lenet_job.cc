// SPDX-License-Identifier: Apache-2.0
#include "tests/job/lenet_job.h"

#include "apps/data/open_dataset.h"
#include "apps/files/sha256.h"
#include "core/hex_text.h"
#include "core/model/zoo.h"
#include "core/train/initialise.h"
#include "core/train/schedule.h"

namespace weft::apps {
namespace {

constexpr const char* kData = "synthetic:1x28x28:10:256";

}  // namespace

std::vector<std::string> LenetJob::PsArguments(int port, const std::string& state,
                                               const std::vector<std::string>& more) const {
  std::vector<std::string> all = {"serve",
                                  "--broker",
                                  "127.0.0.1:" + std::to_string(port),
                                  "--job",
                                  "digits",
                                  "--state",
                                  state,
                                  "--model",
                                  "lenet5",
                                  "--input",
                                  "1x28x28",
                                  "--classes",
                                  "10",
                                  "--rounds",
                                  std::to_string(rounds),
                                  "--workers",
                                  std::to_string(workers),
                                  "--batch",
                                  std::to_string(batch),
                                  "--optimizer",
                                  optimizer,
                                  "--heartbeat",
                                  "0.1",
                                  "--worker-timeout",
                                  "3",
                                  "--threads",
                                  "1",
                                  "--json"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<std::string> LenetJob::EdgeArguments(int port, int worker,
                                                 const std::vector<std::string>& more) const {
  std::vector<std::string> all = {"train",
                                  "--broker",
                                  "127.0.0.1:" + std::to_string(port),
                                  "--job",
                                  "digits",
                                  "--worker",
                                  "w" + std::to_string(worker),
                                  "--share",
                                  std::to_string(worker) + "/" + std::to_string(workers),
                                  "--data",
                                  kData,
                                  "--backend",
                                  "ref",
                                  "--threads",
                                  "1"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

model::Graph LenetJob::Graph() const {
  return *model::BuildModel("lenet5", {.classes = 10, .input = {1, 28, 28}});
}

train::Optimizer LenetJob::Optimizer() const {
  if (optimizer == "adamw") {
    return *train::Optimizer::Create(train::AdamW{.weight_decay = 5e-4});
  }
  return *train::Optimizer::Create(train::Sgd{.momentum = 0.9, .weight_decay = 5e-4});
}

std::string LenetJob::ExpectedHash() const {
  NullHooks hooks;
  Serial serial;
  LenetCompute compute(*this);
  train::Parameters& parameters = compute.parameters();
  const train::Optimizer steps = Optimizer();
  const train::Schedule schedule = *train::ParseSchedule("cosine");
  const size_t floats = parameters.values().size();
  std::vector<float> state(floats * static_cast<size_t>(steps.state_per_parameter()), 0.0f);
  std::vector<float> sum(floats);
  for (int round = 0; round < rounds; ++round) {
    float weights = 0;
    std::fill(sum.begin(), sum.end(), 0.0f);
    for (int w = 0; w < workers; ++w) {
      const Result<train::StepReport> report = compute.Step(w, round, hooks);
      if (!report.ok()) return report.status().message();
      const auto weight = static_cast<float>(batch);
      weights += weight;
      size_t at = 0;
      for (int unit = 0; unit < parameters.units(); ++unit) {
        for (const float g : compute.network().Gradients(unit)) {
          const volatile float product = weight * g;  // rounded, not fused with the sum
          sum[at] = workers == 1 ? g : sum[at] + product;
          ++at;
        }
      }
    }
    if (workers > 1) {
      for (float& f : sum) f = f / weights;
    }
    steps.Apply(
        {.number = round + 1, .learning_rate = kLearningRate * schedule.FactorAt(round, rounds)},
        {.parameters = parameters.values(), .gradients = sum, .state = state}, 0,
        static_cast<int64_t>(floats), serial);
    compute.network().ParametersChanged();
  }
  return HexText(ModelHash(parameters));
}

LenetCompute::LenetCompute(const LenetJob& job)
    : job_(job),
      graph_(job.Graph()),
      parameters_(graph_),
      compute_(ComputeStack::Create({.backend = "ref", .threads = 1}, clock_).value()),
      data_(OpenDataset(kData, Split::kTrain).value()),
      loaders_(static_cast<size_t>(job.workers)) {
  Serial serial;
  train::Initialise(parameters_, LenetJob::kSeed, serial);
  network_ = train::Network::Create(parameters_, compute_->registry(), compute_->parallel(),
                                    {.batch = job.batch})
                 .value();
}

Result<train::StepReport> LenetCompute::Step(int worker, int64_t round, StepHooks& hooks) {
  std::unique_ptr<train::BatchLoader>& loader = loaders_[static_cast<size_t>(worker)];
  if (loader == nullptr) {
    loader = train::BatchLoader::Create(*data_, {.sampling = {.batch = job_.batch,
                                                              .worker = worker,
                                                              .workers = job_.workers,
                                                              .seed = LenetJob::kSeed},
                                                 .height = 28,
                                                 .width = 28})
                 .value();
  }
  const Result<train::Batch> batch = loader->Next();
  if (!batch.ok()) return batch.status();
  return train::ComputeStep({.network = *network_,
                             .forward_hooks = hooks,
                             .backward_hooks = hooks,
                             .clock = clock_,
                             .seed = LenetJob::kSeed + static_cast<uint64_t>(worker)},
                            round, *batch);
}

}  // namespace weft::apps
