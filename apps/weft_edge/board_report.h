// SPDX-License-Identifier: Apache-2.0
// What `weft-edge board` has to say, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/board/board.h"
#include "apps/compute/memory_budget.h"

namespace weft::apps {

// How fast a model trained when it was tried.
struct MeasuredSpeed {
  int batch = 0;
  double images_per_s = 0;
};

struct BoardModel {
  std::string name;
  std::optional<Fit> fit;  // none: it does not fit
  std::optional<MeasuredSpeed> speed = {};
  std::string no_speed = {};  // why there is none, where it was tried
};

struct BoardReport {
  Board board;
  std::vector<BoardModel> models;
  bool measured = false;
};

std::string BoardText(const BoardReport& report);
nlohmann::json BoardJson(const BoardReport& report);

}  // namespace weft::apps
