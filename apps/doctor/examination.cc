// SPDX-License-Identifier: Apache-2.0
#include "apps/doctor/examination.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

namespace weft::apps {
namespace {

constexpr int kNameColumn = 9;
constexpr int kTextColumn = 29;

const char* Word(CheckState state) {
  switch (state) {
    case CheckState::kOk:
      return "ok";
    case CheckState::kWarning:
      return "warning";
    case CheckState::kFails:
      return "fails";
    case CheckState::kNotChecked:
      return "not checked";
  }
  return "";
}

const char* Colour(CheckState state) {
  switch (state) {
    case CheckState::kOk:
      return "\x1b[32m";
    case CheckState::kWarning:
      return "\x1b[33m";
    case CheckState::kFails:
      return "\x1b[1;31m";
    case CheckState::kNotChecked:
      return "\x1b[2m";
  }
  return "";
}

size_t Letters(const std::string& text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

}  // namespace

Finding Good(std::string detail) { return {.state = CheckState::kOk, .detail = std::move(detail)}; }
Finding Doubtful(std::string detail, std::string fix) {
  return {.state = CheckState::kWarning, .detail = std::move(detail), .fix = std::move(fix)};
}
Finding Bad(std::string detail, std::string fix) {
  return {.state = CheckState::kFails, .detail = std::move(detail), .fix = std::move(fix)};
}

Finding Bad(const Status& status, const std::string& otherwise) {
  const std::string& told = status.message();
  const size_t end = told.find("; ");
  if (end == std::string::npos) return Bad(told, otherwise);
  return Bad(told.substr(0, end), told.substr(end + 2));
}

std::string Wrapped(const std::string& text, int columns, int indent) {
  std::string lines;
  size_t used = 0;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t letters = Letters(word);
    if (used == 0) {
      lines += word;
    } else if (used + 1 + letters <= static_cast<size_t>(columns - indent)) {
      lines += " " + word;
      ++used;
    } else {
      lines += "\n" + std::string(static_cast<size_t>(indent), ' ') + word;
      used = 0;
    }
    used += letters;
  }
  return lines;
}

bool Examination::Check(const std::string& name, std::initializer_list<std::string> needs,
                        const std::function<Finding()>& look) {
  Entry entry{.name = name, .finding = {}};
  std::string cause;
  for (const std::string& need : needs) {
    const auto at = in_the_way_.find(need);
    if (at != in_the_way_.end() && cause.empty()) cause = at->second;
  }
  if (cause.empty()) {
    entry.finding = look();
    if (!entry.finding.in_the_way.empty()) {
      in_the_way_[name] = entry.finding.in_the_way;
    } else if (entry.finding.state == CheckState::kFails) {
      in_the_way_[name] = "'" + name + "' fails";
    }
  } else {
    in_the_way_[name] = cause;
    entry.finding = {.state = CheckState::kNotChecked, .detail = "because " + cause};
  }
  Tell(entry);
  entries_.push_back(std::move(entry));
  return !in_the_way_.contains(name);
}

void Examination::Tell(const Entry& entry) {
  if (json_) return;
  const Finding& finding = entry.finding;
  if (finding.state == CheckState::kNotChecked) {
    if (finding.detail != left_out_why_) TellLeftOut();
    left_out_why_ = finding.detail;
    left_out_.push_back(entry.name);
    return;
  }
  TellLeftOut();
  Line(finding.state, entry.name,
       finding.detail + (finding.fix.empty() ? "" : " → " + finding.fix));
}

void Examination::TellLeftOut() {
  if (left_out_.empty()) return;
  const std::string why = "not checked, " + left_out_why_;
  if (left_out_.size() == 1) {
    Line(CheckState::kNotChecked, left_out_.front(), why);
  } else {
    Line(CheckState::kNotChecked, fmt::format("{} others", left_out_.size()),
         fmt::format("{}: {}", why, fmt::join(left_out_, ", ")));
  }
  left_out_.clear();
}

void Examination::Line(CheckState state, const std::string& name, std::string text) const {
  const bool left_out = state == CheckState::kNotChecked;
  const Terminal& terminal = console_.terminal;
  if (terminal.live) text = Wrapped(text, terminal.columns, kTextColumn);
  std::string word = fmt::format("{:<{}}", left_out ? "-" : Word(state), kNameColumn);
  if (terminal.colour) {
    word = Colour(state) + word + "\x1b[0m";
    if (left_out) text = Colour(state) + text + "\x1b[0m";
  }
  console_.out << word << fmt::format("{:<{}}", name, kTextColumn - kNameColumn) << text << "\n"
               << std::flush;
}

void Examination::Finish() {
  const auto count = [&](CheckState state) {
    return std::count_if(entries_.begin(), entries_.end(),
                         [&](const Entry& entry) { return entry.finding.state == state; });
  };
  const auto failed = count(CheckState::kFails);
  console_.exit_code = failed > 0 ? kExitFailure : kExitOk;
  if (json_) {
    nlohmann::json checks = nlohmann::json::array();
    for (const auto& [name, finding] : entries_) {
      checks.push_back({{"name", name},
                        {"state", Word(finding.state)},
                        {"detail", finding.detail},
                        {"fix", finding.fix}});
    }
    console_.out << nlohmann::json({{"checks", checks}, {"ok", failed == 0}}) << "\n";
    return;
  }
  TellLeftOut();
  std::string sum = fmt::format("{} checks: {} ok", entries_.size(), count(CheckState::kOk));
  const struct {
    CheckState state;
    const char* one;
    const char* several;
  } others[] = {{CheckState::kWarning, "warning", "warnings"},
                {CheckState::kFails, "fails", "fail"},
                {CheckState::kNotChecked, "not checked", "not checked"}};
  for (const auto& [state, one, several] : others) {
    const auto those = count(state);
    if (those > 0) sum += fmt::format(", {} {}", those, those == 1 ? one : several);
  }
  console_.out << "\n" << sum << "\n";
}

}  // namespace weft::apps
