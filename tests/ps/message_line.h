// SPDX-License-Identifier: Apache-2.0
// What a message says, in a line for people who read a trace.
#pragma once

#include <string>

#include "net/message.h"

namespace weft::ps {

std::string LineOf(const net::Message& message);

}  // namespace weft::ps
