// SPDX-License-Identifier: Apache-2.0
// The smallest lab: an edge and a cloud, each a network namespace, and one link between them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/status.h"
#include "net/link/link_emulator.h"
#include "net/link/network_namespace.h"

namespace weft::net {

struct LinkPair {
  // The same everywhere: each pair has networks of its own.
  static constexpr char kEdgeAddress[] = "10.86.0.1";
  static constexpr char kCloudAddress[] = "10.86.0.2";

  // Namespaces `name`-a, the edge, and `name`-b, the cloud. Fails as NetworkNamespace and
  // LinkEmulator do, and leaves nothing then.
  static Result<LinkPair> Create(const std::string& name, const LinkSetting& up,
                                 const LinkSetting& down, int mtu, uint64_t seed);

  std::unique_ptr<NetworkNamespace> edge;
  std::unique_ptr<NetworkNamespace> cloud;
  std::unique_ptr<LinkEmulator> emulator;  // last: its devices are in the others
};

}  // namespace weft::net
