// SPDX-License-Identifier: Apache-2.0
// libmosquitto's object for one connection, made as a setting wants it.
#pragma once

#include "core/status.h"
#include "net/mqtt/mqtt_setting.h"

struct mosquitto;

namespace weft::net {

// Packet ids are 16 bits, and the library does not check that one is free.
inline constexpr int kMostInFlight = 1'000;
inline constexpr int64_t kLargestPacket = 268'435'455;  // MQTT has no larger ones

// Puts a new object into `client`, for the caller to destroy, whatever is returned; callbacks get
// `self`. NotFound: a file of the setting cannot be read.
Status NewClient(const MqttSetting& setting, void* self, mosquitto*& client);

}  // namespace weft::net
