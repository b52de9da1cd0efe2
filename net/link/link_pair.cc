// SPDX-License-Identifier: Apache-2.0
#include "net/link/link_pair.h"

#include <utility>

namespace weft::net {

Result<LinkPair> LinkPair::Create(const std::string& name, const LinkSetting& up,
                                  const LinkSetting& down, int mtu, uint64_t seed) {
  Result<std::unique_ptr<NetworkNamespace>> edge = NetworkNamespace::Create(name + "-a");
  if (!edge.ok()) return edge.status();
  Result<std::unique_ptr<NetworkNamespace>> cloud = NetworkNamespace::Create(name + "-b");
  if (!cloud.ok()) return cloud.status();
  Result<std::unique_ptr<LinkEmulator>> emulator =
      LinkEmulator::Create({{.edge = {.place = edge->get(), .address = kEdgeAddress},
                             .cloud = {.place = cloud->get(), .address = kCloudAddress},
                             .up = up,
                             .down = down,
                             .mtu = mtu}},
                           seed);
  if (!emulator.ok()) return emulator.status();
  return LinkPair{
      .edge = std::move(*edge), .cloud = std::move(*cloud), .emulator = std::move(*emulator)};
}

}  // namespace weft::net
