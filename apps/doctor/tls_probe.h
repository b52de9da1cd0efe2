// SPDX-License-Identifier: Apache-2.0
// What a port answers to TLS and to MQTT without it, from outside: nobody logs in, and nobody's
// place is taken.
#pragma once

#include <cstdint>
#include <string>

#include "net/mqtt/mqtt_setting.h"

namespace weft::apps {

enum class TlsVerdict {
  kGood,
  kUnusable,        // a file of ours; the words say which
  kNotTls,          // it speaks, but not TLS
  kClosed,          // it hangs up without a word
  kSilent,          // nothing by the deadline
  kTooOld,          // no common version of TLS
  kWrongAuthority,  // of the broker's certificate, and so on
  kExpired,
  kNotYetValid,
  kWrongName,
  kOwnMissing,  // it wants a certificate of ours, and so on
  kOwnUnknown,
  kOwnExpired,
  kOwnRevoked,
  kOwnRefused,
  kFailed,  // anything else; the words say what
};

struct TlsAnswer {
  TlsVerdict verdict = TlsVerdict::kFailed;
  std::string words = {};      // the library's
  std::string version = {};    // "TLSv1.3", if it came to that
  std::string peer_name = {};  // whom the broker's certificate is for, if it showed one
  int64_t valid_from_s = 0;
  int64_t valid_until_s = 0;
};

// Shakes hands with the setting's files at `address`, one of its host's in numbers, and waits until
// the broker has also judged our own certificate.
TlsAnswer ProbeTls(const net::MqttSetting& setting, const std::string& address, int64_t timeout_ms);

// Whether an MQTT broker answers there without TLS. It is asked to speak a version there is not.
bool SpeaksPlainMqtt(const std::string& address, int port, int64_t timeout_ms);

}  // namespace weft::apps
