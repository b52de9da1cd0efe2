// SPDX-License-Identifier: Apache-2.0
// Looks at files as the installed service will see them: as its user, and from behind the walls of
// its unit. Root may read all and write everywhere, so what root sees proves nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/doctor/examination.h"
#include "apps/doctor/service_unit.h"

namespace weft::apps {

class ServiceView {
 public:
  // Without a unit, everything is as who asks sees it.
  ServiceView() = default;
  explicit ServiceView(std::optional<ServiceUnit> unit) : unit_(std::move(unit)) {}

  enum class Use { kRead, kWrite };

  // What `look` finds at `paths`, but where a wall stands before one of them, or the user lacks a
  // right, that and what to do about it. Only root can look as somebody else: then `look` is called
  // twice, as root and as that user. Thread: the only one that opens files.
  Finding Look(const std::vector<std::string>& paths, Use use,
               const std::function<Finding()>& look) const {
    return Look(paths, use, look, look);
  }
  // With another `as_user` where that is enough to know its rights.
  Finding Look(const std::vector<std::string>& paths, Use use, const std::function<Finding()>& look,
               const std::function<Finding()>& as_user) const;

  // Of the machine's memory that it may take; 0: all.
  int memory_percent() const { return unit_ ? unit_->memory_percent : 0; }

 private:
  std::optional<Finding> Wall(const std::string& place, Use use) const;

  std::optional<ServiceUnit> unit_;
};

// All of them can be opened.
Finding CheckReadable(const std::vector<std::string>& files);

}  // namespace weft::apps
