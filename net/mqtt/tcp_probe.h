// SPDX-License-Identifier: Apache-2.0
// Whether anybody listens at an address.
#pragma once

#include <cstdint>
#include <string>

#include "core/clock.h"

namespace weft::net {

// Connects and hangs up. 0, or the errno of what went wrong: ETIMEDOUT by the clock's `until_ns`,
// and ECANCELED if `bell`, a descriptor, can be read from first. `address` is in numbers.
int ProbeTcp(const std::string& address, int port, const Clock& clock, int64_t until_ns, int bell);

// Waits for a connection that `socket` has begun; the same answers, and 0 once it stands.
int AwaitTcp(int socket, const Clock& clock, int64_t until_ns, int bell);

}  // namespace weft::net
