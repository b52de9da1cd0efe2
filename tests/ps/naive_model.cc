// SPDX-License-Identifier: Apache-2.0
#include "tests/ps/naive_model.h"

#include <cmath>
#include <cstring>

namespace weft::ps {

using net::FloatRange;

NaiveModel::NaiveModel(const SimulatedJob& job)
    : job_(job), parts_(static_cast<size_t>(job.shards)) {
  for (int s = 0; s < job.shards; ++s) {
    Part& part = parts_[static_cast<size_t>(s)];
    part.units = *job.layout->Shard(s, job.shards);
    part.range = job.layout->Units(part.units.first, part.units.last);
    Version first{.values = std::vector<float>(static_cast<size_t>(part.range.size()))};
    for (int64_t i = 0; i < part.range.size(); ++i) {
      first.values[static_cast<size_t>(i)] = FirstValue(part.range.begin + i);
    }
    first.state.assign(
        first.values.size() * static_cast<size_t>(job.optimizer->state_per_parameter()), 0.0f);
    part.versions.push_back(std::move(first));
  }
}

std::string NaiveModel::Close(int shard, const JournalRecord& record) {
  Part& part = parts_[static_cast<size_t>(shard)];
  const auto round = static_cast<size_t>(record.round);
  if (round >= part.versions.size()) return "a round was closed that is not open";
  if (part.versions.size() == round + 1) {
    // Same values until they are moved, so that the state can be moved in place.
    part.versions.push_back(part.versions[round]);
    part.moved.Clear();
  } else if (part.versions.size() != round + 2) {
    return "a committed round was closed again";
  }
  if (part.moved.Covered(record.slice) > 0) return "a slice was closed twice";
  part.moved.Add(record.slice);
  // I1: nobody counts twice, and the order is the workers'.
  for (size_t i = 1; i < record.contributions.size(); ++i) {
    if (record.contributions[i - 1].worker >= record.contributions[i].worker) {
      return "a worker was added twice or out of order";
    }
  }
  if (record.contributions.size() < static_cast<size_t>(job_.quorum)) return "below the quorum";
  if (job_.strict && record.contributions.size() != static_cast<size_t>(job_.workers)) {
    return "a round was closed without everybody";
  }
  for (const Contribution& c : record.contributions) {
    if (c.weight != job_.batch[static_cast<size_t>(SimulatedJob::WorkerIndex(c.worker))]) {
      return "a weight is wrong";
    }
  }
  const std::optional<std::vector<float>> values = Whole(record.round);
  if (!values) return "a slice was closed before its version was whole anywhere";
  const std::vector<float> mean =
      Mean(part, *values, record.round, record.slice, record.contributions);
  if (std::memcmp(mean.data(), record.mean.data(), mean.size() * sizeof(float)) != 0) {
    return "the mean is not that of the contributions";
  }
  Move(part, record.round, record.slice, mean);
  return "";
}

void NaiveModel::CloseRound() {
  const auto round = static_cast<int64_t>(parts_.front().versions.size()) - 1;
  const std::vector<float> values = *Whole(round);
  std::vector<Contribution> everybody;
  for (int w = 0; w < job_.workers; ++w) {
    everybody.push_back({SimulatedJob::WorkerName(w), job_.batch[static_cast<size_t>(w)]});
  }
  for (Part& part : parts_) {
    const FloatRange all{0, part.range.size()};
    part.versions.push_back(part.versions.back());
    Move(part, round, all, Mean(part, values, round, all, everybody));
  }
}

std::string NaiveModel::Check(int shard, int64_t round, std::span<const float> values) const {
  const Part& part = parts_[static_cast<size_t>(shard)];
  if (static_cast<size_t>(round) >= part.versions.size()) return "a version came from nowhere";
  const std::vector<float>& expected = part.versions[static_cast<size_t>(round)].values;
  for (const float v : values) {
    if (!std::isfinite(v)) return "the model is not finite";
  }
  if (std::memcmp(expected.data(), values.data(), expected.size() * sizeof(float)) != 0) {
    return "version " + std::to_string(round) + " is not what its contributions make";
  }
  return "";
}

void NaiveModel::GoBack(int shard, int64_t round, std::span<const FloatRange> closed) {
  Part& part = parts_[static_cast<size_t>(shard)];
  part.versions.resize(static_cast<size_t>(round) + 2, part.versions.front());
  Version& next = part.versions.back();
  const Version& now = part.versions[part.versions.size() - 2];
  if (closed.empty()) {
    part.versions.pop_back();
    part.moved.Clear();
    return;
  }
  // Slices that the journal has stay moved, the others are as before.
  net::RangeSet kept;
  for (const FloatRange& range : closed) kept.Add(range);
  for (int64_t i = 0; i < part.range.size(); ++i) {
    if (kept.Covers({i, i + 1})) continue;
    const auto place = static_cast<size_t>(i);
    next.values[place] = now.values[place];
    for (size_t k = place; k < next.state.size(); k += next.values.size()) {
      next.state[k] = now.state[k];
    }
  }
  part.moved = kept;
}

std::optional<std::vector<float>> NaiveModel::Whole(int64_t round) const {
  std::vector<float> values;
  for (const Part& part : parts_) {
    if (static_cast<size_t>(round) >= part.versions.size()) return std::nullopt;
    const std::vector<float>& v = part.versions[static_cast<size_t>(round)].values;
    values.insert(values.end(), v.begin(), v.end());
  }
  return values;
}

std::vector<float> NaiveModel::Mean(const Part& part, const std::vector<float>& values,
                                    int64_t round, FloatRange slice,
                                    const std::vector<Contribution>& contributions) const {
  std::vector<float> mean(static_cast<size_t>(slice.size()), 0.0f);
  float weights = 0;
  for (const Contribution& c : contributions) {
    const std::vector<float> g = job_.Gradients(values, SimulatedJob::WorkerIndex(c.worker), round);
    const auto weight = static_cast<float>(c.weight);
    weights += weight;
    for (int64_t i = 0; i < slice.size(); ++i) {
      const float one = g[static_cast<size_t>(part.range.begin + slice.begin + i)];
      float& sum = mean[static_cast<size_t>(i)];
      sum = contributions.size() == 1 ? one : sum + weight * one;
    }
  }
  if (contributions.size() > 1) {
    for (float& m : mean) m = m / weights;
  }
  return mean;
}

void NaiveModel::Move(Part& part, int64_t round, FloatRange slice, const std::vector<float>& mean) {
  Version& next = part.versions.back();
  const train::OptimizerStep step{.number = round + 1, .learning_rate = 0.05};
  const size_t floats = next.values.size();
  const int per = job_.optimizer->state_per_parameter();
  Serial serial;
  for (int unit = part.units.first; unit <= part.units.last; ++unit) {
    const FloatRange parameters = job_.layout->Parameters(unit);
    for (int64_t i = 0; i < slice.size(); ++i) {
      const int64_t place = part.range.begin + slice.begin + i;
      if (job_.layout->UnitAt(place) != unit) continue;
      const auto at = static_cast<size_t>(place - part.range.begin);
      if (place >= parameters.end) {
        next.values[at] = mean[static_cast<size_t>(i)];
        continue;
      }
      std::vector<float> state(static_cast<size_t>(per));
      for (size_t k = 0; k < state.size(); ++k) state[k] = next.state[k * floats + at];
      job_.optimizer->Apply(step,
                            {.parameters = std::span(&next.values[at], 1),
                             .gradients = std::span(&mean[static_cast<size_t>(i)], 1),
                             .state = state},
                            0, 1, serial);
      for (size_t k = 0; k < state.size(); ++k) next.state[k * floats + at] = state[k];
    }
  }
}

}  // namespace weft::ps
