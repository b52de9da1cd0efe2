// SPDX-License-Identifier: Apache-2.0
// What a Mosquitto broker is told for one job: its configuration, who may publish and listen where,
// and the memory it may come to need. Pure: numbers in, text out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"

namespace weft::ps {

// The user that a job's server is; a device's user is its worker name.
inline constexpr const char* kServerUser = "ps";
// Of several servers each is a user of its own, by a name that no worker can have: "ps:2".
std::string ServerUser(int shard, int shards);

// Files on the broker's machine.
struct BrokerTls {
  std::string ca_file;           // who signed the devices' certificates
  std::string certificate_file;  // the broker's own
  std::string key_file;
  std::string revoked_file = {};  // a list of revoked certificates; empty: none
};

struct BrokerJob {
  std::string job;  // its name; nobody has a say in topics of another
  int workers = 1;
  int shards = 1;             // servers of the job
  int64_t window_bytes = 0;   // on the way between one worker and one server, at most
  int64_t segment_bytes = 0;  // of one message
  int port = 8883;
  // Without, the broker listens on loopback only and believes every user name.
  std::optional<BrokerTls> tls = {};
  std::string address = {};  // listens only there; empty: everywhere, with TLS
  // Users without any right. Unlike BrokerTls::revoked_file this reaches those who are connected,
  // as soon as the broker reads its files again.
  std::vector<std::string> shut_out = {};
  std::string guard_file = {};  // weft_guard.so; empty: without
  std::string acl_path;         // where the broker finds BrokerPlan::acl
  int64_t memory_limit_bytes = 1'500'000'000;
};

struct BrokerPlan {
  std::string config;        // mosquitto.conf
  std::string acl;           // the file at acl_path
  int64_t memory_bytes = 0;  // at the worst: every window full, both ways
  std::string warning = {};  // a sentence if that is more than the limit, with what would fit
};

// InvalidInput if the job's numbers or names make no sense, or a path has a line end in it.
Result<BrokerPlan> PlanBroker(const BrokerJob& job);

}  // namespace weft::ps
