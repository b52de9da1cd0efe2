// SPDX-License-Identifier: Apache-2.0
#include "apps/doctor/doctor_flags.h"

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>

#include "apps/terminal/command_line.h"
#include "apps/terminal/config_file.h"

namespace weft::apps {
namespace {

bool IsCommand(const std::string& word) { return !word.starts_with("-"); }

// Whether a flag says something of the job, rather than of how to examine it.
bool IsAboutJob(const std::string& word) {
  return word.starts_with("--") && word != "--json" && word != "--verbose" && word != "--help" &&
         !word.starts_with("--timeout");
}

}  // namespace

DoctorArguments ReadDoctorArguments(const std::vector<std::string>& arguments,
                                    const InstalledService& installed) {
  DoctorArguments read;
  const auto command = std::find_if(arguments.begin(), arguments.end(), IsCommand);
  read.asked = command != arguments.end() && *command == "doctor";
  if (!read.asked) return read;
  std::vector<std::string> all = arguments;
  if (std::none_of(all.begin(), all.end(), IsAboutJob) &&
      access(installed.file.c_str(), F_OK) == 0) {
    all.insert(all.end(), {"--config", installed.file});
  }
  const SplitArguments split = SplitConfigFile(all);
  read.file = split.config_file.value_or("");
  std::error_code error;
  if (std::filesystem::equivalent(read.file, installed.file, error)) {
    read.service = InstalledUnit(installed.unit, installed.root);
  }
  const Result<std::vector<std::string>> with_file = WithConfigFile(all);
  read.problem = with_file.status();
  read.flags = with_file.ok() ? *with_file : split.others;
  return read;
}

Finding CheckConfiguration(const ServiceView& service, const DoctorArguments& config,
                           const std::function<Finding()>& look) {
  const Finding mine = look();
  Finding finding = service.Look(
      {config.file}, ServiceView::Use::kRead, [&] { return mine; },
      [&] { return CheckReadable({config.file}); });
  if (finding.state == CheckState::kFails && mine.state != CheckState::kFails) {
    finding.detail += "; systemd would skip the service and report no failure";
  }
  return finding;
}

void AddDoctorFlags(CLI::App& command, DoctorFlags& flags) {
  command.add_option("--timeout", flags.timeout_s, "Seconds to wait for each answer")
      ->check(PositiveUpTo(600))
      ->capture_default_str();
  command.add_flag("--json", flags.json, "All checks as one JSON object on stdout");
}

}  // namespace weft::apps
