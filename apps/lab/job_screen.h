// SPDX-License-Identifier: Apache-2.0
// A running job as lines for people: the server, the broker, a row for each worker, how far it is.
// Pure: numbers in, text out.
#pragma once

#include <string>
#include <vector>

#include "apps/lab/job_state.h"
#include "apps/lab/live_region.h"

namespace weft::apps {

struct ScreenSetting {
  std::string title;
  double seconds = 0;           // since the start
  double training_seconds = 0;  // since the first round was done
  WindowSize window;
  bool colour = false;
  std::string hint = {};  // below it all, where the pids are shown; empty: none
};

// No line is wider than the window, and all of them leave a row free. What does not fit is left
// out, the least important first.
std::vector<std::string> JobScreen(const JobState& state, const ScreenSetting& setting);

// "1:05" or "23 s"
std::string DurationText(double seconds);

// What a terminal shows of a line: letters, without colours.
int ShownWidth(const std::string& line);

}  // namespace weft::apps
