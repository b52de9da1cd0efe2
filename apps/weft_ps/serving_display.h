// SPDX-License-Identifier: Apache-2.0
// What a person, or a program, sees of a running server.
#pragma once

#include <cstdint>
#include <string>

#include "apps/terminal/console.h"
#include "cloud_ps/server.h"
#include "core/clock.h"

namespace weft::apps {

// The state of a server for programs: one JSON object.
std::string StatusJson(const ps::ServerStatus& status, const std::string& job);
// The same for Prometheus.
std::string MetricsText(const ps::ServerStatus& status, const std::string& job);
// The same for people: a few lines.
std::string StatusText(const std::string& json);

class ServingDisplay {
 public:
  ServingDisplay(Console& console, bool json, const ps::ServerSetting& setting,
                 const net::WireLayout& layout, const Clock& clock);

  // A line for each round that has closed since the last call.
  void Update(const ps::ServerStatus& status);
  void Leave();
  // The end of the job; no hash where this server has only a part of the model.
  void Final(const ps::ServerStatus& status, const std::string& model_hash);

 private:
  Console& console_;
  const bool json_;
  const Clock& clock_;
  int64_t shown_round_ = -1;
  int64_t round_began_ns_ = 0;
  int64_t bytes_taken_ = 0;
  int64_t disk_wait_ns_ = 0;
  bool drawn_ = false;
};

}  // namespace weft::apps
