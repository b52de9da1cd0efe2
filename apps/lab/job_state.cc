// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/job_state.h"

#include <algorithm>

namespace weft::apps {
namespace {

void Sum(std::optional<int64_t>& sum, const std::optional<int64_t>& more) {
  if (more) sum = sum.value_or(0) + *more;
}

}  // namespace

void Smoothed::Show(double value) {
  constexpr double kKeep = 0.8;
  value_ = value_ ? kKeep * *value_ + (1 - kKeep) * value : value;
}

void WorkerState::Hear(const WorkerRound& line) {
  round = line.round;
  if (line.loss) loss.Show(*line.loss);
  if (line.images_per_s) images_per_s.Show(*line.images_per_s);
  if (const std::optional<TimeShares> shares = SharesOf(line)) {
    computing.Show(shares->computing);
    overlapping.Show(shares->overlapping);
    waiting.Show(shares->waiting);
  }
  Sum(bytes_up, line.bytes_up);
  Sum(bytes_down, line.bytes_down);
}

void WorkerState::Hear(const WorkerEnd& line) {
  model_hash = line.model_hash;
  top1 = line.top1;
  done = true;
}

void ServerState::Hear(const ServerEnd& line) {
  model_hash = line.model_hash;
  done = true;
}

void ServerState::Hear(const ServerRound& line) {
  round = line.round;
  workers = line.workers.value_or(workers);
  bytes_taken += line.bytes_taken.value_or(0);
  segments_taken += line.segments_taken.value_or(0);
  disk_wait_ns += line.disk_wait_ns.value_or(0);
}

// "New client connected from 127.0.0.1:41728 as w1 (p5, c1, k10, u'w1')." and, later, one of
// "Client w1 disconnected.", "Client w1 closed its connection.", "Client w1 has exceeded timeout".
void BrokerState::Hear(const std::string& line) {
  if (line.ends_with(" running")) running = true;
  const auto word_after = [&line](const std::string& words) {
    const size_t at = line.find(words);
    if (at == std::string::npos) return std::string();
    const size_t begin = at + words.size();
    return line.substr(begin, line.find(' ', begin) - begin);
  };
  if (line.starts_with("New client connected from ")) {
    clients.insert(word_after(" as "));
  } else if (line.starts_with("Client ") && line.find("already connected") == std::string::npos) {
    clients.erase(word_after("Client "));
  }
}

int64_t JobState::rounds_done() const {
  if (servers.empty()) return 0;
  return std::min_element(servers.begin(), servers.end(),
                          [](const auto& a, const auto& b) { return a.round < b.round; })
      ->round;
}

bool JobState::served() const {
  return std::all_of(servers.begin(), servers.end(),
                     [](const ServerState& server) { return server.done; });
}

bool JobState::done() const {
  return served() && std::all_of(workers.begin(), workers.end(),
                                 [](const WorkerState& worker) { return worker.done; });
}

std::optional<double> JobState::loss() const {
  double sum = 0;
  int count = 0;
  for (const WorkerState& worker : workers) {
    if (!worker.loss.value()) continue;
    sum += *worker.loss.value();
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(sum / count);
}

std::optional<double> JobState::images_per_s() const {
  std::optional<double> sum;
  for (const WorkerState& worker : workers) {
    if (worker.images_per_s.value()) sum = sum.value_or(0) + *worker.images_per_s.value();
  }
  return sum;
}

}  // namespace weft::apps
