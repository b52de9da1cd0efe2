// SPDX-License-Identifier: Apache-2.0
// `weft bench transport`: tensors through a real broker, beside a bare TCP stream; to a broker that
// is there, or to one of our own across an emulated link.
#pragma once

#include <string>

#include "apps/job/broker_flags.h"
#include "apps/terminal/console.h"
#include "core/status.h"

namespace weft::apps {

struct TransportBenchFlags {
  BrokerFlags broker;
  std::string tcp_address = "127.0.0.1";
  double link_mbps = 0;  // 0: no link
  double link_rtt_ms = 0;
  bool tls = false;
  bool json = false;
};

void AddTransportBenchFlags(CLI::App& command, TransportBenchFlags& flags);
Status RunTransportBench(const TransportBenchFlags& flags, Console& console);

}  // namespace weft::apps
