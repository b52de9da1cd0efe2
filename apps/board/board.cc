// SPDX-License-Identifier: Apache-2.0
#include "apps/board/board.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "apps/board/profiles.h"
#include "apps/compute/compute_stack.h"

namespace weft::apps {

std::string Board::BackendsText() const { return fmt::format("{}", fmt::join(backends, ",")); }

std::string Board::BudgetText() const {
  const int64_t mebibytes = share.budget_bytes >> 20;
  return mebibytes > 0 ? std::to_string(mebibytes) + "MiB" : "";
}

Result<Board> FindBoard(const std::string& name, const std::string& root) {
  const std::vector<boards::Profile>& profiles = Profiles();
  Board board{.facts = boards::Probe(root)};
  if (name == "auto") {
    boards::Recognised recognised = boards::Recognise(board.facts, profiles);
    board.profile = recognised.profile;
    board.recognised_by = std::move(recognised.by);
  } else {
    std::string known = "auto";
    for (const boards::Profile& profile : profiles) {
      known += ", " + profile.name;
      if (profile.name == name) board.profile = &profile;
    }
    if (board.profile == nullptr) {
      return Status::NotFound("no board is called '" + name + "'; choose one of " + known);
    }
    board.recognised_by = "--board";
  }
  board.share = boards::ShareOf(*board.profile, board.facts);
  board.backends = BuiltBackends();
  const std::vector<std::string>& order = board.profile->backends;
  std::stable_sort(board.backends.begin(), board.backends.end(), [&](const auto& a, const auto& b) {
    if (a == "ref" || b == "ref") return b == "ref" && a != "ref";
    return std::find(order.begin(), order.end(), a) < std::find(order.begin(), order.end(), b);
  });
  return board;
}

}  // namespace weft::apps
