// SPDX-License-Identifier: Apache-2.0
// The board this program runs on, or was told to take itself for, and what it will use of it.
#pragma once

#include <string>
#include <vector>

#include "boards/recognise.h"
#include "core/status.h"

namespace weft::apps {

struct Board {
  const boards::Profile* profile = nullptr;  // one of Profiles()
  std::string recognised_by;
  boards::Facts facts;
  boards::Share share;
  // This build's, in the profile's order; those it does not name, and at last ref, behind.
  std::vector<std::string> backends;

  // As --backend takes them.
  std::string BackendsText() const;
  // As --memory-budget takes it; "" where nobody knows what there is.
  std::string BudgetText() const;
};

// `name` is that of a profile, or "auto" to look; `root` as Probe() takes it. NotFound lists the
// names.
Result<Board> FindBoard(const std::string& name, const std::string& root);

}  // namespace weft::apps
