// SPDX-License-Identifier: Apache-2.0
// The way to the broker, link by link, the same for devices and servers: key, certificate, clock,
// name, port, TLS, and at its end a connection under this side's own name.
#pragma once

#include <memory>
#include <string>

#include "apps/doctor/examination.h"
#include "apps/doctor/service_view.h"
#include "core/clock.h"
#include "net/mqtt/broker_probe.h"
#include "net/mqtt/mqtt_setting.h"

namespace weft::apps {

// The check that whatever speaks with the broker needs.
inline constexpr const char* kIdentity = "identity";

struct BrokerWalk {
  net::MqttSetting broker;     // with a client id and user name
  std::string broker_text;     // HOST:PORT, as it was typed
  std::string identity;        // whom the certificate must be for
  std::string identity_flag;   // what said so: "--worker"
  std::string program;         // "weft-edge"
  int64_t timeout_ms = 5'000;  // for each answer
  ServiceView service = {};    // who will read the files
};

// Whether only this machine is on the way, and nothing to be kept from others.
bool OnThisMachine(const net::MqttSetting& broker);

// Leaves what it found in `exam`. The connection, or nothing; it borrows `walk` and `clock`. The
// broker may give a connection the client id that goes with its certificate, which ends one that
// has it: so none is made while this machine runs the program under that name.
std::unique_ptr<net::BrokerProbe> WalkToBroker(Examination& exam, const BrokerWalk& walk,
                                               net::MqttSetting& probe_setting, const Clock& clock);

}  // namespace weft::apps
