// SPDX-License-Identifier: Apache-2.0
// One message of every kind, every field with a value of its own; the golden files hold these, so
// what is here never changes. And what tests need to compare and to forge messages.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "net/message.h"

namespace weft::net {

struct Sample {
  std::string kind;
  Message message;
};

// In the order of Body. What a segment looks at lives as long as the program.
std::vector<Sample> SampleMessages();

// Whether every field is the same; of segments, what their data are, too.
bool Same(const Message& a, const Message& b);

}  // namespace weft::net
