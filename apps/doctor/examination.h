// SPDX-License-Identifier: Apache-2.0
// A row of checks, each told as soon as it is known: what was found and, where something is wrong,
// what to do about it. A check that needs another is left out when that one does not hold.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "apps/terminal/console.h"
#include "core/status.h"

namespace weft::apps {

enum class CheckState { kOk, kWarning, kFails, kNotChecked };

struct Finding {
  CheckState state = CheckState::kOk;
  std::string detail = {};
  std::string fix = {};
  // Why checks that need this one cannot be made; empty: they can, unless it fails.
  std::string in_the_way = {};
};

Finding Good(std::string detail);
Finding Doubtful(std::string detail, std::string fix);
Finding Bad(std::string detail, std::string fix);
// A Status is a sentence, often with what to do behind a ';'; where not, that is `otherwise`.
Finding Bad(const Status& status, const std::string& otherwise);

class Examination {
 public:
  // With `json`, nothing is said before Finish. `console` must outlive it.
  Examination(Console& console, bool json) : console_(console), json_(json) {}

  // Makes a check and tells what it found. If one of `needs`, which are names of earlier checks,
  // does not hold, tells that instead. Whether those that need this one can be made.
  bool Check(const std::string& name, std::initializer_list<std::string> needs,
             const std::function<Finding()>& look);

  // Something came in the way of a check that was made before: those that need it are left out.
  void Block(const std::string& name, const std::string& why) { in_the_way_[name] = why; }

  // Says what it comes to, and sets the console's exit code: 1 if a check failed.
  void Finish();

 private:
  struct Entry {
    std::string name;
    Finding finding;
  };
  void Tell(const Entry& entry);
  // Those left out one after the other for the same reason are one line.
  void TellLeftOut();
  void Line(CheckState state, const std::string& name, std::string text) const;

  Console& console_;
  const bool json_;
  std::vector<Entry> entries_;
  std::vector<std::string> left_out_;  // names not yet told
  std::string left_out_why_;
  std::map<std::string, std::string> in_the_way_;  // by check: why those that need it cannot be
};

// `text` in lines of at most `columns`, broken at spaces; all lines after the first are indented.
// An escape sequence counts as letters, so `text` should have none.
std::string Wrapped(const std::string& text, int columns, int indent);

}  // namespace weft::apps
