// SPDX-License-Identifier: Apache-2.0
// What a device needs of a broker and a server, asked for as the device itself: its topics, that
// others' are closed to it, and a server that answers. Nothing it says makes it a member of the
// job, or changes one: it asks what the job is, and what else it sends is refused at the gate.
#pragma once

#include <optional>
#include <string>

#include "apps/doctor/broker_walk.h"
#include "apps/doctor/examination.h"
#include "core/clock.h"
#include "net/message.h"

namespace weft::apps {

struct DeviceSession {
  std::string job;
  std::string worker;
  int shards = 1;
};

// The checks from the topics to the server's protocol; `probe` is null where the walk ended early,
// and then they are told as not checked. What the first server says of the job, if it does.
std::optional<net::Welcome> CheckDeviceSession(Examination& exam, const BrokerWalk& walk,
                                               const DeviceSession& session,
                                               net::BrokerProbe* probe, const Clock& clock);

}  // namespace weft::apps
