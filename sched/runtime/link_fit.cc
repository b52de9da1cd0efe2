// SPDX-License-Identifier: Apache-2.0
// Single gaps between arrivals are noisy: two segments may be noticed at once. Averages over runs
// are not. Theil and Sen's estimator, the median of the slopes through all pairs of runs, separates
// Δt from the rate; the rate is then taken from the sum of all that is no outlier, so that a whole
// model's time comes out right even where Δt does not. A link is not the same from a round's begin
// to its end, with the other direction busy only in a part of it: so the sum is of all runs of a
// round, and the medians are of a sample spread evenly over it.
#include "sched/runtime/link_fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::sched {
namespace {

constexpr int64_t kRounds = 3;       // that are remembered
constexpr size_t kLeastRuns = 8;     // however old
constexpr size_t kSampledRuns = 32;  // of a round
constexpr int64_t kRunLength = 8;
constexpr size_t kFewestRuns = 4;  // to say anything
constexpr size_t kFewestPairs = 6;
// A run that takes so much longer than most, and so long, tells of a broken connection or a laptop
// that slept.
constexpr double kOutlier = 5;
constexpr double kOutlierNs = 500e6;
constexpr size_t kMostOutliers = 16;  // of a round; what is beyond them counts
constexpr double kAlike = 1.5;        // sizes within this factor are one size

double Median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void LinkFit::Run::Add(const Run& other, int64_t times) {
  count += times * other.count;
  bytes += times * other.bytes;
  ns += times * other.ns;
}

void LinkFit::Add(const Arrival& arrival) {
  const std::optional<Nanos> before = std::exchange(last_ns_, arrival.at_ns);
  if (!before || !arrival.follows || arrival.at_ns < *before) return Close();
  if (open_.count > 0) {
    const double mean = open_.MeanBytes();
    const auto bytes = static_cast<double>(arrival.bytes);
    if (bytes > kAlike * mean || mean > kAlike * bytes) Close();
  }
  open_.Add({.count = 1, .bytes = arrival.bytes, .ns = arrival.at_ns - *before});
  if (open_.count == kRunLength) Close();
}

void LinkFit::Close() {
  const Run run = std::exchange(open_, {});
  if (run.bytes == 0) return;
  Round& round = round_;
  round.all.Add(run);
  if (static_cast<double>(run.ns) > kOutlierNs) {
    const auto slower = [](const Run& a, const Run& b) { return a.NsPerByte() > b.NsPerByte(); };
    round.slowest.insert(std::ranges::upper_bound(round.slowest, run, slower), run);
    if (round.slowest.size() > kMostOutliers) round.slowest.pop_back();
  }
  const int64_t place = round.seen++ % round.stride;
  if (place == 0) round.chosen = rng_.Between(0, round.stride - 1);
  if (place != round.chosen) return;
  round.sample.push_back(run);
  if (round.sample.size() == 2 * kSampledRuns) Thin(round);
}

// By chance, and not every second one: large and small may come in turn.
void LinkFit::Thin(Round& round) {
  std::vector<Run>& sample = round.sample;
  const size_t pairs = sample.size() / 2;
  for (size_t i = 0; i < pairs; ++i) {
    sample[i] = sample[2 * i + static_cast<size_t>(rng_.Between(0, 1))];
  }
  sample.resize(pairs);
  round.stride *= 2;
}

void LinkFit::EndRound() {
  Close();
  const int64_t next = round_.number + 1;
  if (round_.sample.size() > kSampledRuns) Thin(round_);
  if (!round_.sample.empty()) rounds_.push_back(std::move(round_));
  round_ = {.number = next};
  size_t runs = 0;
  for (const Round& round : rounds_) runs += round.sample.size();
  while (!rounds_.empty() && rounds_.front().number + kRounds < next) {
    runs -= rounds_.front().sample.size();
    if (runs < kLeastRuns) break;
    rounds_.pop_front();
  }
  if (const std::optional<LinkCost> fit = FitRounds()) fit_ = fit;
}

// The median intercept of the lines through pairs of runs of different sizes; nullopt if there are
// too few to tell Δt from the rate.
std::optional<double> LinkFit::Overhead(const std::vector<Run>& runs) {
  std::vector<double> slopes;  // ns per byte
  size_t pairs = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double a = runs[i].MeanBytes();
      const double b = runs[j].MeanBytes();
      ++pairs;
      if (a < kAlike * b && b < kAlike * a) continue;
      slopes.push_back((runs[i].MeanNs() - runs[j].MeanNs()) / (a - b));
    }
  }
  if (slopes.size() < kFewestPairs || slopes.size() < pairs / 8) return std::nullopt;
  const double slope = std::max(Median(slopes), 0.0);
  std::vector<double> rests;
  for (const Run& run : runs) rests.push_back(run.MeanNs() - slope * run.MeanBytes());
  return std::max(Median(rests), 0.0);
}

std::optional<LinkCost> LinkFit::FitRounds() {
  std::vector<Run> runs;
  Run all;
  for (const Round& round : rounds_) {
    runs.insert(runs.end(), round.sample.begin(), round.sample.end());
    all.Add(round.all);
  }
  if (runs.size() < kFewestRuns) return std::nullopt;
  std::vector<double> paces;
  for (const Run& run : runs) paces.push_back(run.NsPerByte());
  const double usual = Median(paces);
  for (const Round& round : rounds_) {
    for (const Run& run : round.slowest) {
      const double longest = kOutlier * usual * static_cast<double>(run.bytes) + kOutlierNs;
      if (static_cast<double>(run.ns) > longest) all.Add(run, -1);
    }
  }
  if (all.ns <= 0 || all.bytes <= 0) return std::nullopt;
  // Smoothed, since medians jump; where it never could be told, all is rate.
  const std::optional<double> found = Overhead(runs);
  if (found) overhead_ = overhead_ ? (*overhead_ + *found) / 2 : *found;
  const double overhead = overhead_.value_or(0);
  const double overheads = overhead * static_cast<double>(all.count);
  const auto ns = static_cast<double>(all.ns);
  // What is not Δt is bytes; a Δt that would leave nothing for them is none.
  const double share = std::min(1.0, 0.5 * ns / std::max(overheads, 1.0));
  if (overhead_) overhead_ = share * overhead;
  const double rate = static_cast<double>(all.bytes) / (ns - share * overheads) * 1e9;
  return LinkCost{
      .overhead_ns = std::llround(share * overhead),
      .bytes_per_s = std::llround(std::clamp(rate, 1.0, static_cast<double>(kMaxBytesPerS)))};
}

}  // namespace weft::sched
