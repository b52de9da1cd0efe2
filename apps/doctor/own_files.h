// SPDX-License-Identifier: Apache-2.0
// What a program brings along: its key, its certificate and the authority's, the machine's clock,
// and room on the disk. Nothing here needs a network.
#pragma once

#include <cstdint>
#include <string>

#include "apps/doctor/examination.h"
#include "net/mqtt/mqtt_setting.h"

namespace weft::apps {

// Nobody but its owner, and at most its group, may read it.
Finding CheckKeyFile(const std::string& key_file);

// Authority, certificate and key can be read and belong together, the certificate is for
// `identity`, which `flag` was given as, and it has not expired at `now_s`, in Unix seconds.
Finding CheckCertificate(const net::MqttSetting& broker, const std::string& identity,
                         const std::string& flag, int64_t now_s);

// The clock is neither before this build nor before the files' certificates were made, nor, which
// is a warning, after all of them have expired.
Finding CheckClock(const net::MqttSetting& broker, int64_t now_s);

// Files can be written in `folder`, which may have to be made, and `bytes` of them fit.
Finding CheckFolder(const std::string& folder, int64_t bytes, const std::string& flag);

// The same of a folder of checkpoints, whose lock may be somebody else's: of a run as root, say.
Finding CheckCheckpoints(const std::string& folder, int64_t bytes, const std::string& flag);

// "2026-11-18 07:30 UTC"
std::string DateText(int64_t unix_s);

}  // namespace weft::apps
