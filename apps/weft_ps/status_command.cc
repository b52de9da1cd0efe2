// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_ps/status_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "apps/weft_ps/metrics_port.h"
#include "apps/weft_ps/serving_display.h"

namespace weft::apps {

Command AddStatusCommand(CLI::App& app) {
  struct Flags {
    int port = 0;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* status = app.add_subcommand("status", "Ask a running server how it stands");
  status->add_option("--metrics-port", flags->port, "The server's --metrics-port")
      ->required()
      ->check(CLI::Range(1, 65535));
  status->add_flag("--json", flags->json, "As one JSON object");
  return {status, [flags](Console& console) {
            Result<std::string> json = AskMetricsPort(flags->port, "/status");
            if (!json.ok()) return json.status();
            console.out << (flags->json ? *json + "\n" : StatusText(*json));
            return Status::Ok();
          }};
}

}  // namespace weft::apps
