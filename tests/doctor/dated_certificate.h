// SPDX-License-Identifier: Apache-2.0
// Certificates with any dates, and lists of revoked ones, which the openssl program of some systems
// does not make.
#pragma once

#include <cstdint>
#include <string>

#include "tests/mqtt/certificates.h"

namespace weft::apps {

inline constexpr int64_t kDay = 24 * 3600;  // seconds

// For `name`, with a key of its own, both among `files`; `from_s` and `until_s` count from now.
// `hosts` as of MakeServer, or empty for a device.
void MakeDated(const net::Certificates& files, const std::string& name,
               const std::string& authority, const std::string& hosts, int64_t from_s,
               int64_t until_s);

// Writes `authority`'s list with the certificate of `revoked` on it; `from_s` and `until_s` as
// above.
void WriteRevoked(const net::Certificates& files, const std::string& authority,
                  const std::string& revoked, const std::string& path, int64_t from_s = -kDay,
                  int64_t until_s = kDay);

}  // namespace weft::apps
