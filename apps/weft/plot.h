// SPDX-License-Identifier: Apache-2.0
// The paper's Figures 6 and 7 for a simulation, drawn by gnuplot: stacked bars per strategy of
// computing alone, overlapping and communicating alone; below them the whole iteration with the
// bound.
#pragma once

#include <string>
#include <vector>

#include "sched/timeline.h"

namespace weft::apps {

struct PlotBar {
  std::string strategy;
  sched::Portions forward;
  sched::Portions backward;
  sched::Portions iteration;
};

struct PlotModel {
  std::string name;
  std::vector<PlotBar> bars;
  // What each row's bars are divided by: sequential's times.
  sched::Nanos forward_unit_ns = 1;
  sched::Nanos backward_unit_ns = 1;
  sched::Nanos iteration_unit_ns = 1;
  sched::Nanos bound_ns = 0;
};

// What gnuplot is given; `path` ends in .svg or .png. Refuses other endings.
Result<std::string> PlotScript(const std::string& path, const std::string& title,
                               const std::vector<PlotModel>& models);

// As a single-quoted string of gnuplot's, which takes everything but a quote: that is doubled.
std::string PlotQuoted(const std::string& text);

// A script's first lines: where to draw, and how large. `path` ends in .svg or .png; refuses
// others.
Result<std::string> PlotTerminal(const std::string& path, size_t width, size_t height);

// What would keep RunGnuplot from drawing `path`, for whoever has long work to do before.
// InvalidInput for other endings; Unavailable if there is no gnuplot, or the file cannot be
// written.
Status CheckPlot(const std::string& path);

// Runs gnuplot on a script that draws `path`. Failure: gnuplot is not installed or the file cannot
// be written.
Status RunGnuplot(const std::string& path, const std::string& script);

// Runs gnuplot on PlotScript.
Status WritePlot(const std::string& path, const std::string& title,
                 const std::vector<PlotModel>& models);

}  // namespace weft::apps
