// SPDX-License-Identifier: Apache-2.0
// What a server needs of a broker, asked for as the server itself: that it may speak to devices and
// listen to them, and not the other way round, and that no other server has its name.
#pragma once

#include <string>

#include "apps/doctor/broker_walk.h"
#include "apps/doctor/examination.h"
#include "core/clock.h"

namespace weft::apps {

struct ServerSession {
  std::string job;
  int shard = 0;
  int shards = 1;
  int64_t segment_bytes = 0;
  int64_t window_bytes = 0;
  int64_t welcome_bytes = 0;  // of what each device is told first
};

// The checks of the topics and the broker's limits; `probe` is null where the walk ended early, and
// then they are told as not checked.
void CheckServerSession(Examination& exam, const BrokerWalk& walk, const ServerSession& session,
                        net::BrokerProbe* probe, const Clock& clock);

}  // namespace weft::apps
