// SPDX-License-Identifier: Apache-2.0
#include "core/status.h"

#include <cerrno>
#include <system_error>

namespace weft {

Status Status::SystemFailure(std::string_view what) {
  return Unavailable(std::string(what) + ": " + std::generic_category().message(errno));
}

Status Status::WithContext(std::string_view context) const {
  if (ok()) return *this;
  return Status(code_, std::string(context) + ": " + message_);
}

}  // namespace weft
