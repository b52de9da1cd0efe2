// SPDX-License-Identifier: Apache-2.0
// The programs that a whole job on one machine is made of, and where they are.
#pragma once

#include <string>

#include "core/status.h"

namespace weft::apps {

struct Companions {
  std::string weft;  // this program, as a person would type it here
  std::string server;
  std::string edge;
  std::string broker;

  // Server and edge are next to this program, the broker in one of the folders of `search_path`.
  // NotFound names the one that is missing, and how to get it.
  static Result<Companions> Find(const std::string& search_path = SearchPath());
  // $PATH, and where Debian keeps its daemons.
  static std::string SearchPath();
};

}  // namespace weft::apps
