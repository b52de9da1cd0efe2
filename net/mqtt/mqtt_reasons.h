// SPDX-License-Identifier: Apache-2.0
// What the library and the broker say in numbers, said in sentences.
#pragma once

#include <string>

#include "core/status.h"
#include "net/mqtt/mqtt_setting.h"

namespace weft::net {

// "broker.local:8883"
std::string BrokerName(const MqttSetting& setting);

// Why no TCP connection came about, or why it broke; an errno.
Status SocketFailure(const MqttSetting& setting, int error);

// The connection came about and ended before the broker had said anything.
Status ClosedAtOnce(const MqttSetting& setting);

// The TLS library's own complaints, as they came through libmosquitto's log.
Status TlsFailure(const MqttSetting& setting, const std::string& complaints);

// A CONNACK other than success.
Status ConnectRefused(const MqttSetting& setting, int reason_code);

// A DISCONNECT sent by the broker.
Status SentAway(const MqttSetting& setting, int reason_code);

// What a function of libmosquitto returned; `error` is errno after it.
Status LibraryFailure(const MqttSetting& setting, int library_code, int error);

// A PUBACK other than success: a code from 1 to 255.
Status PublishRefused(const MqttSetting& setting, int reason_code);

}  // namespace weft::net
