// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/enrol_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "apps/enrolment/device_bundle.h"
#include "apps/enrolment/private_files.h"

namespace weft::apps {
namespace {

constexpr size_t kMostBytes = 1 << 20;
constexpr const char* kUser = "weft-edge";  // as whom the service runs

struct EnrolFlags {
  std::string bundle;
  std::string into = kDeviceFolder;
};

Status Enrol(const EnrolFlags& flags, Console& console) {
  const Result<std::string> archive = ReadSmallFile(flags.bundle, kMostBytes);
  if (!archive.ok()) return archive.status();
  const Result<DeviceBundle> bundle = UnpackBundle(*archive);
  if (!bundle.ok()) {
    return Status::InvalidInput(
        "'" + flags.bundle + "' is no bundle of `weft cluster add`: " + bundle.status().message());
  }
  if (Status status = InstallBundle(*bundle, flags.into, kUser); !status.ok()) return status;
  const std::string config = flags.into + "/" + kConfigName;
  console.out << "this device's identity is in " << flags.into << "; the bundle can go\n";
  if (bundle->config.find("\ndata = ") == std::string::npos) {
    console.out << "say where its images are: a line data = \"KIND:PATH\" in " << config << "\n";
  }
  console.out << "next:  weft-edge doctor --config " << config << "\n"
              << "then:  systemctl enable --now weft-edge\n"
              << "or:    weft-edge train --config " << config << "\n";
  return Status::Ok();
}

}  // namespace

Command AddEnrolCommand(CLI::App& app) {
  auto flags = std::make_shared<EnrolFlags>();
  CLI::App* command = app.add_subcommand(
      "enrol", "Take this device's identity from a bundle of `weft cluster add`");
  command->add_option("bundle", flags->bundle, "The file DEVICE.tar")->required();
  command->add_option("--into", flags->into, "Folder for certificates and configuration")
      ->capture_default_str();
  return {command, [flags](Console& console) { return Enrol(*flags, console); }};
}

}  // namespace weft::apps
