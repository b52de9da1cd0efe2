// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/score_display.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

namespace weft::apps {

void ShowScore(std::ostream& out, bool json, int64_t epoch, const train::Score& score) {
  if (json) {
    out << nlohmann::json{{"epoch", epoch},
                          {"eval_loss", score.loss()},
                          {"top1", score.top1()},
                          {"top5", score.top5()}}
        << std::endl;  // whoever reads along sees it now
    return;
  }
  out << fmt::format("epoch {}: test loss {:.4f}, top-1 {:.2f} %, top-5 {:.2f} %\n", epoch,
                     score.loss(), 100 * score.top1(), 100 * score.top5());
}

}  // namespace weft::apps
