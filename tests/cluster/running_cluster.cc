// SPDX-License-Identifier: Apache-2.0
#include "tests/cluster/running_cluster.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace weft::apps {

std::string Trained(const RunningCluster& cluster) {
  std::vector<std::unique_ptr<ChildProcess>> servers;
  for (int shard = 0; shard < cluster.shards; ++shard) {
    const std::string stem = cluster.shards == 1 ? "ps" : "ps" + std::to_string(shard);
    servers.push_back(std::make_unique<ChildProcess>(cluster.Server(stem)));
  }
  ChildProcess worker(cluster.Worker());
  std::string last;
  while (const std::optional<std::string> line = worker.NextLine()) last = *line;
  if (worker.Wait() != 0) return "";
  // Of several each stays for a while, in case a worker must come back for what another lacks.
  if (cluster.shards == 1 && servers[0]->Wait() != 0) return "";
  CHECK_EQUAL(cluster.shards == 1,
              std::filesystem::exists(cluster.scratch.Path("state/digits.safetensors")));
  return nlohmann::json::parse(last).value("model_hash", "");
}

}  // namespace weft::apps
