// SPDX-License-Identifier: Apache-2.0
// Answers questions about a running server over HTTP on this machine: /metrics for Prometheus,
// /status as JSON. A thread of its own hands out the latest text; a slow asker delays nobody.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "apps/files/descriptor.h"
#include "core/status.h"

namespace weft::apps {

class MetricsPort {
 public:
  // On 127.0.0.1. Unavailable: the port is taken.
  static Result<std::unique_ptr<MetricsPort>> Open(int port);
  ~MetricsPort();
  MetricsPort(const MetricsPort&) = delete;
  MetricsPort& operator=(const MetricsPort&) = delete;

  // What is answered from now on. Thread: any.
  void Publish(std::string metrics, std::string status_json);

 private:
  MetricsPort(Descriptor listening, Descriptor stop_read, Descriptor stop_write);
  void Work();
  void Answer(int connection);

  const Descriptor listening_;
  const Descriptor stop_read_;
  const Descriptor stop_write_;
  std::mutex mu_;
  std::string metrics_;      // guarded by mu_
  std::string status_json_;  // guarded by mu_
  std::thread thread_;       // last: it uses the others
};

// GET `path` from a MetricsPort on this machine. Unavailable: nobody answers.
Result<std::string> AskMetricsPort(int port, const std::string& path);

}  // namespace weft::apps
