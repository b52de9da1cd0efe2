// SPDX-License-Identifier: Apache-2.0
#include "apps/terminal/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <ostream>

#include "apps/terminal/spdlog_sink.h"

namespace weft::apps {
namespace {

CLI::Validator Between(double least, bool least_included, double most, const std::string& what) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        double value = 0;
        const bool number = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
        if (number && value <= most && (value > least || (least_included && value == least))) {
          return "";
        }
        return "'" + text + "' is not " + what;
      },
      "NUMBER");
}

std::string Rounded(double value) {
  std::string text = std::to_string(value);
  return text.substr(0, text.find('.'));
}

// CLI11 may put several lines into a message; people get one.
std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

int ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return kExitOk;
    case StatusCode::kInvalidInput:
    case StatusCode::kNotFound:
      return kExitBadInput;
    case StatusCode::kUnavailable:
    case StatusCode::kTaken:
      return kExitFailure;
  }
  return kExitFailure;
}

}  // namespace

CLI::Validator PositiveUpTo(double most) {
  return Between(0, false, most, "a number above 0 and at most " + Rounded(most));
}

CLI::Validator FromZeroUpTo(double most) {
  return Between(0, true, most, "a number from 0 to " + Rounded(most));
}

int RunCommandLine(CLI::App& app, const std::vector<Command>& commands,
                   const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
                   const Terminal& terminal) {
  const std::string name = app.get_name();
  app.set_version_flag("--version", name + " " WEFT_VERSION);
  app.require_subcommand(0, 1);
  bool verbose = false;
  app.add_flag("-v,--verbose", verbose, "Say on stderr what is being done");
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // last one first
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error, out, err);  // --help, --version
    err << name << ": " << OneLine(error.what()) << "; see " << name << " --help\n";
    return kExitBadInput;
  }
  SpdlogSink sink(err);
  Console console{.out = out,
                  .err = err,
                  .terminal = terminal,
                  .log = Logger(sink, verbose ? LogLevel::kDebug : LogLevel::kWarning)};
  for (const Command& command : commands) {
    if (!command.parsed->parsed()) continue;
    const Status status = command.run(console);
    if (!status.ok()) err << name << ": " << status.message() << "\n";
    return status.ok() ? console.exit_code : ExitCodeOf(status);
  }
  out << app.help();
  return kExitOk;
}

}  // namespace weft::apps
