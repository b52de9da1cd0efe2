// SPDX-License-Identifier: Apache-2.0
#include "apps/weft/plot.h"

#include <fmt/format.h>

#include <cstdio>

#include "apps/weft/output_file.h"

namespace weft::apps {
namespace {

using sched::Nanos;
using sched::Portions;

struct Row {
  const char* title;
  Portions PlotBar::*portions;
  Nanos PlotModel::*unit_ns;
};

constexpr Row kRows[] = {
    {"forward", &PlotBar::forward, &PlotModel::forward_unit_ns},
    {"backward", &PlotBar::backward, &PlotModel::backward_unit_ns},
    {"iteration", &PlotBar::iteration, &PlotModel::iteration_unit_ns},
};

double Share(Nanos part, Nanos unit) {
  return unit == 0 ? 0 : static_cast<double>(part) / static_cast<double>(unit);
}

// Strategy and the three portions a line, then the commands that stack them. The last row has
// the bound as a bar of its own.
std::string Panel(const PlotModel& model, const Row& row, bool key, bool with_bound) {
  const Nanos unit = model.*row.unit_ns;
  std::string script = "$bars << EOD\n";
  for (const PlotBar& bar : model.bars) {
    const Portions& p = bar.*row.portions;
    script += fmt::format("\"{}\" {:.6f} {:.6f} {:.6f} 0\n", bar.strategy,
                          Share(p.computing_alone_ns, unit), Share(p.overlapping_ns, unit),
                          Share(p.communicating_alone_ns, unit));
  }
  if (with_bound) script += fmt::format("\"bound\" 0 0 0 {:.6f}\n", Share(model.bound_ns, unit));
  script += fmt::format("EOD\nset title {}\n{} key\n", PlotQuoted(model.name + ", " + row.title),
                        key ? "set" : "unset");
  script +=
      "plot $bars using 2:xtic(1) lc rgb '#4c9f70' title 'computing alone', "
      "'' using 3 lc rgb '#e9b44c' title 'overlapping', "
      "'' using 4 lc rgb '#5b7db1' title 'communicating alone', "
      "'' using 5 lc rgb '#999999' fs pattern 2 notitle, "
      "'' using 0:($2+$3+$4+$5):(sprintf('%.3f', $2+$3+$4+$5)) with labels offset 0,0.6 notitle\n";
  return script;
}

Status NoGnuplot() {
  return Status::Unavailable("gnuplot is not installed; apt-get install gnuplot-nox");
}

}  // namespace

std::string PlotQuoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

Result<std::string> PlotTerminal(const std::string& path, size_t width, size_t height) {
  const char* terminal = path.ends_with(".svg")
                             ? "svg size {},{} noenhanced font 'sans,12' background 'white'"
                         : path.ends_with(".png") ? "pngcairo noenhanced size {},{} font 'sans,10'"
                                                  : nullptr;
  if (terminal == nullptr) {
    return Status::InvalidInput("--plot '" + path + "' must end in .svg or .png");
  }
  return fmt::format("set terminal {}\nset output {}\nset encoding utf8\n",
                     fmt::format(fmt::runtime(terminal), width, height), PlotQuoted(path));
}

Result<std::string> PlotScript(const std::string& path, const std::string& title,
                               const std::vector<PlotModel>& models) {
  Result<std::string> begun = PlotTerminal(path, 430 * models.size() + 20, 1060);
  if (!begun.ok()) return begun;
  std::string script = *begun;
  script += fmt::format(
      "set style data histograms\nset style histogram rowstacked\n"
      "set style fill solid 0.9 border rgb '#ffffff'\nset boxwidth 0.75\n"
      "set yrange [0:1.1]\nset ytics 0.25\nset grid ytics lc rgb '#dddddd'\n"
      "set key at graph 1, graph 0.97 right top vertical reverse Left samplen 1.5\n"
      "set border 3\nset tics nomirror\n"
      "set ylabel 'time, sequential = 1'\nset xtics rotate by 25 right\n"
      "set multiplot layout {},{} columnsfirst title {}\n",
      std::size(kRows), models.size(), PlotQuoted(title));
  for (const PlotModel& model : models) {
    for (const Row& row : kRows) {
      const bool first = &model == &models.front() && &row == std::begin(kRows);
      script += Panel(model, row, first, &row == std::end(kRows) - 1);
    }
  }
  return script + "unset multiplot\nset output\n";
}

Status CheckPlot(const std::string& path) {
  if (Status status = PlotTerminal(path, 1, 1).status(); !status.ok()) return status;
  if (Status status = CheckWritable(path); !status.ok()) return status;
  std::FILE* shell = popen("command -v gnuplot >/dev/null 2>&1", "w");
  if (shell != nullptr && pclose(shell) == 0) return Status::Ok();
  return NoGnuplot();
}

Status RunGnuplot(const std::string& path, const std::string& script) {
  if (Status status = CheckWritable(path); !status.ok()) return status;
  std::FILE* gnuplot = popen("gnuplot >/dev/null 2>&1", "w");
  const bool started = gnuplot != nullptr;
  const bool given = started && std::fputs(script.c_str(), gnuplot) >= 0;
  const int status = started ? pclose(gnuplot) : -1;
  if (given && status == 0) return Status::Ok();
  std::remove(path.c_str());
  constexpr int kShellNotFound = 127 << 8;
  if (!started || status == kShellNotFound) {
    return NoGnuplot();
  }
  return Status::Unavailable("gnuplot could not draw '" + path + "'; does gnuplot run by itself?");
}

Status WritePlot(const std::string& path, const std::string& title,
                 const std::vector<PlotModel>& models) {
  Result<std::string> script = PlotScript(path, title, models);
  if (!script.ok()) return script.status();
  return RunGnuplot(path, *script);
}

}  // namespace weft::apps
