// SPDX-License-Identifier: Apache-2.0
// A job on one machine in numbers, and what its programs are told. Pure: values in, words out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"

namespace weft::apps {

struct JobSetting {
  std::string job = "demo";
  std::string model;
  std::string input;  // CxHxW; empty: the model's own
  int classes = 0;    // 0: the model's own
  std::string data;   // KIND:PATH
  int64_t rounds = 0;
  int workers = 1;
  int shards = 1;
  int batch = 32;
  int threads = 1;           // of each worker
  double learning_rate = 0;  // 0: the server's own choice
  int64_t checkpoint_every = 0;
  std::string strategy;   // empty: the server's own choice
  std::string save;       // file for the trained weights; empty: none
  bool evaluate = false;  // the first worker measures accuracy in the end
  std::string compute;    // empty: real; or replay:FILE
  std::string traces;     // the beginning of files for each worker's trace; empty: none
  std::string times;      // folder for kernel timings; empty: where they always are
};

// Where the job meets: HOST and PORT of its broker.
struct Meeting {
  std::string host = "127.0.0.1";
  int port = 0;
};

std::string WorkerName(int worker);  // "w1" for the first

// Command lines, the program's path first. `state` is a folder that the server makes.
std::vector<std::string> ServerWords(const JobSetting& job, const Meeting& meeting, int shard,
                                     const std::string& program, const std::string& state);
std::vector<std::string> WorkerWords(const JobSetting& job, const Meeting& meeting, int worker,
                                     const std::string& program);

// A device alone that finds out which kernels are quickest for the job, and writes it down.
std::vector<std::string> LearnWords(const JobSetting& job, const std::string& program);

// mosquitto.conf, and the file at `acl_path`. `listen` is where the broker listens. Fails as
// ps::PlanBroker does.
struct BrokerFiles {
  std::string config;
  std::string acl;
};
Result<BrokerFiles> BrokerFilesOf(const JobSetting& job, const Meeting& listen,
                                  const std::string& acl_path, bool as_root);

}  // namespace weft::apps
