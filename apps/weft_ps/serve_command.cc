// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_ps/serve_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/weft_ps/serving.h"

namespace weft::apps {

Command AddServeCommand(CLI::App& app, const std::atomic<bool>& stop) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* serve = app.add_subcommand("serve", "Run a job: collect gradients, send parameters");
  AddServeFlags(*serve, *flags);
  for (const char* needed : kNeededServeFlags) serve->get_option(needed)->required();
  serve->add_flag("--json", flags->json, "One JSON object per round on stdout");
  return {serve, [flags, &stop](Console& console) { return Serve(*flags, console, stop); }};
}

}  // namespace weft::apps
