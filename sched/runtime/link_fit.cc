// SPDX-License-Identifier: Apache-2.0
// Single gaps between arrivals are noisy: two segments may be noticed at once. Averages over runs
// are not. Theil and Sen's estimator, the median of the slopes through all pairs of runs, separates
// Δt from the rate; the rate is then taken from the sum of all that is no outlier, so that a whole
// model's time comes out right even where Δt does not.
#include "sched/runtime/link_fit.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace weft::sched {
namespace {

constexpr int64_t kRounds = 3;    // that are remembered
constexpr size_t kLeastRuns = 8;  // however old
constexpr size_t kMostRuns = 96;  // the latest
constexpr int64_t kRunLength = 8;
constexpr size_t kFewestRuns = 4;  // to say anything
constexpr size_t kFewestPairs = 6;
// A run that takes so much longer than most, and so long, tells of a broken connection or a laptop
// that slept.
constexpr double kOutlier = 5;
constexpr double kOutlierNs = 500e6;
constexpr double kAlike = 1.5;  // sizes within this factor are one size

double Median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void LinkFit::Add(const Arrival& arrival) {
  const std::optional<Nanos> before = std::exchange(last_ns_, arrival.at_ns);
  if (!before || !arrival.follows || arrival.at_ns < *before) return Close();
  if (open_.count > 0) {
    const double mean = open_.MeanBytes();
    const auto bytes = static_cast<double>(arrival.bytes);
    if (bytes > kAlike * mean || mean > kAlike * bytes) Close();
  }
  ++open_.count;
  open_.bytes += arrival.bytes;
  open_.ns += arrival.at_ns - *before;
  if (open_.count == kRunLength) Close();
}

void LinkFit::Close() {
  if (open_.count > 0) {
    open_.round = round_;
    runs_.push_back(open_);
    if (runs_.size() > kMostRuns) runs_.pop_front();
  }
  open_ = {};
}

void LinkFit::EndRound() {
  Close();
  ++round_;
  while (runs_.size() > kLeastRuns && runs_.front().round + kRounds < round_) runs_.pop_front();
  if (const std::optional<LinkCost> fit = FitRuns()) fit_ = fit;
}

// The median intercept of the lines through pairs of runs of different sizes; nullopt if there are
// too few to tell Δt from the rate.
std::optional<double> LinkFit::Overhead() const {
  std::vector<double> slopes;  // ns per byte
  size_t pairs = 0;
  for (size_t i = 0; i < runs_.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double a = runs_[i].MeanBytes();
      const double b = runs_[j].MeanBytes();
      ++pairs;
      if (a < kAlike * b && b < kAlike * a) continue;
      slopes.push_back((runs_[i].MeanNs() - runs_[j].MeanNs()) / (a - b));
    }
  }
  if (slopes.size() < kFewestPairs || slopes.size() < pairs / 8) return std::nullopt;
  const double slope = std::max(Median(slopes), 0.0);
  std::vector<double> rests;
  for (const Run& run : runs_) rests.push_back(run.MeanNs() - slope * run.MeanBytes());
  return std::max(Median(rests), 0.0);
}

std::optional<LinkCost> LinkFit::FitRuns() const {
  if (runs_.size() < kFewestRuns) return std::nullopt;
  const double before = fit_ ? static_cast<double>(fit_->overhead_ns) : 0;
  const std::optional<double> found = Overhead();
  const double overhead = !found ? before : fit_ ? (before + *found) / 2 : *found;
  std::vector<double> paces;
  for (const Run& run : runs_) paces.push_back(run.MeanNs() / run.MeanBytes());
  const double usual = Median(paces);
  double bytes = 0;
  double ns = 0;
  double overheads = 0;
  for (const Run& run : runs_) {
    const auto took = static_cast<double>(run.ns);
    if (took > kOutlier * usual * static_cast<double>(run.bytes) + kOutlierNs) continue;
    bytes += static_cast<double>(run.bytes);
    ns += took;
    overheads += overhead * static_cast<double>(run.count);
  }
  if (ns <= 0 || bytes <= 0) return std::nullopt;
  // What is not Δt is bytes; a Δt that would leave nothing for them is none.
  const double share = std::min(1.0, 0.5 * ns / std::max(overheads, 1.0));
  const double rate = bytes / (ns - share * overheads) * 1e9;
  return LinkCost{
      .overhead_ns = std::llround(share * overhead),
      .bytes_per_s = std::llround(std::clamp(rate, 1.0, static_cast<double>(kMaxBytesPerS)))};
}

}  // namespace weft::sched
