// SPDX-License-Identifier: Apache-2.0
// What a cluster is told when it is made, and the configurations that follow from it: its own,
// the broker's, the server's and each device's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cloud_ps/broker/broker_config.h"
#include "core/status.h"

namespace weft::apps {

struct ClusterSetting {
  std::string host;  // where devices and the servers find the broker
  int port = 8883;
  std::string job = "train";
  int workers = 1;
  int shards = 1;                  // servers, each of which has a part of the model
  std::string segment = "128KiB";  // of one message; as `weft-ps serve` has it
  std::string window = "4MiB";     // on the way to or from one device

  std::string guard_file = {};  // where the broker finds weft_guard.so; empty: it has none

  // For the servers' configurations only. Empty strings and zeros are left out.
  // Of several servers each has a folder in it; one alone also saves the trained model there.
  std::string state = "/var/lib/weft/ps";
  std::string model = "lenet5";
  std::string input = {};
  int classes = 0;
  int64_t rounds = 1000;
  int batch = 0;
};

// Whether a broker can be reached as `host`: a name, or an address in numbers.
bool CanBeHost(const std::string& host);

// InvalidInput, with what is wrong, for names and numbers that cannot be.
Status Validate(const ClusterSetting& setting);

// What `add` and `revoke` need to know again, as TOML; and back. InvalidInput if it is not such.
std::string ClusterText(const ClusterSetting& setting);
Result<ClusterSetting> ParseCluster(const std::string& text);

// The broker's files are in `folder`; the `revoked` have no rights. The setting must be valid.
Result<ps::BrokerPlan> PlanClusterBroker(const ClusterSetting& setting, const std::string& folder,
                                         const std::vector<std::string>& revoked);

// What a server's files are called, without their endings: "ps"; of several, "ps0", "ps1".
std::string ServerStem(const ClusterSetting& setting, int shard);
// For `weft-ps serve --config` of server `shard`, with its files in `folder`.
std::string ServerText(const ClusterSetting& setting, int shard, const std::string& folder);

// What differs from device to device. Empty: left to be written in by hand.
struct DeviceChoices {
  std::string data = {};   // KIND:PATH
  std::string share = {};  // INDEX/COUNT
};
// For `weft-edge train --config`, on the device called `name`.
std::string DeviceText(const ClusterSetting& setting, const std::string& name,
                       const DeviceChoices& choices);

}  // namespace weft::apps
