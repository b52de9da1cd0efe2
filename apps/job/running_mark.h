// SPDX-License-Identifier: Apache-2.0
// A sign on this machine that a program is connected to a broker under a name, so that another can
// see it before it takes that name's place. The sign is an abstract socket: it needs no file and no
// rights, and goes with the process, however that ends. Programs in other network namespaces do not
// see it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "apps/files/descriptor.h"

namespace weft::apps {

class RunningMark {
 public:
  // Never fails: where there is already such a sign, or the system has none to give, this is none.
  RunningMark(const std::string& broker, const std::string& name);

 private:
  Descriptor socket_;
};

// The process that holds the sign, if there is one.
std::optional<pid_t> WhoRunsAs(const std::string& broker, const std::string& name);

}  // namespace weft::apps
