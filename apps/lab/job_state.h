// SPDX-License-Identifier: Apache-2.0
// What is known of a running job: told by what its programs print. Pure: lines in, numbers out.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/lab/job_lines.h"

namespace weft::apps {

// A number that follows what it is shown, and does not jump.
class Smoothed {
 public:
  void Show(double value);
  std::optional<double> value() const { return value_; }

 private:
  std::optional<double> value_;
};

// Of any of the job's programs.
struct ProgramState {
  pid_t pid = -1;
  int starts = 0;
  bool done = false;  // it has said its last word, and may end
};

struct WorkerState : ProgramState {
  std::string name;
  int64_t round = 0;  // so many are done
  Smoothed loss;
  Smoothed images_per_s;
  Smoothed computing;  // of 1
  Smoothed overlapping;
  Smoothed waiting;
  // All rounds together; nullopt: it does not say.
  std::optional<int64_t> bytes_up;
  std::optional<int64_t> bytes_down;
  std::string model_hash;      // once it is done
  std::optional<double> top1;  // of 1, if it was to measure that

  void Hear(const WorkerRound& line);
  void Hear(const WorkerEnd& line);
};

struct ServerState : ProgramState {
  int64_t round = 0;  // so many are done
  int64_t workers = 0;
  int64_t bytes_taken = 0;
  int64_t segments_taken = 0;
  int64_t disk_wait_ns = 0;
  std::string model_hash;  // once it is done; empty where servers share the model

  void Hear(const ServerRound& line);
  void Hear(const ServerEnd& line);
};

struct BrokerState : ProgramState {
  std::string address;  // HOST:PORT
  bool running = false;
  std::set<std::string> clients;
  int64_t memory_bytes = 0;

  // A line of Mosquitto's log.
  void Hear(const std::string& line);
};

struct JobState {
  int64_t rounds = 0;  // there will be
  BrokerState broker;
  std::vector<ServerState> servers;
  std::vector<WorkerState> workers;

  int64_t rounds_done() const;                 // by every server
  bool served() const;                         // every server is done
  bool done() const;                           // and every worker
  std::optional<double> loss() const;          // mean of the workers'
  std::optional<double> images_per_s() const;  // of all workers together
};

}  // namespace weft::apps
