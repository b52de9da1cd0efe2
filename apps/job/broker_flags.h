// SPDX-License-Identifier: Apache-2.0
// The flags that say where the broker is and who we are to it, alike for every program.
#pragma once

#include <string>

#include "core/status.h"
#include "net/mqtt/mqtt_setting.h"

namespace CLI {
class App;
}

namespace weft::apps {

struct BrokerFlags {
  std::string broker;  // HOST:PORT
  std::string ca;
  std::string certificate;
  std::string key;
};

void AddBrokerFlags(CLI::App& command, BrokerFlags& flags);

// Host, port and files filled in. InvalidInput: the address is none.
Result<net::MqttSetting> BrokerSetting(const BrokerFlags& flags);

// "2/4": the third of four, counted from 0. InvalidInput for anything else.
struct Share {
  int index = 0;
  int count = 1;
};
Result<Share> ParseShare(const std::string& text, const std::string& flag);

// A number that differs from start to start, and from machine to machine.
uint64_t RandomNumber();

}  // namespace weft::apps
