// SPDX-License-Identifier: Apache-2.0
// The file behind --script: what happens to a link, and when.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "net/link/link_script.h"

namespace weft::apps {

// Without a path nothing changes. NotFound and InvalidInput name the file.
Result<std::vector<net::LinkChange>> ReadLinkScript(const std::string& path);

}  // namespace weft::apps
