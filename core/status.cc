// SPDX-License-Identifier: Apache-2.0
#include "core/status.h"

namespace weft {

Status Status::WithContext(std::string_view context) const {
  if (ok()) return *this;
  return Status(code_, std::string(context) + ": " + message_);
}

}  // namespace weft
