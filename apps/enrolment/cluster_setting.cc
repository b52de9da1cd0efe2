// SPDX-License-Identifier: Apache-2.0
#include "apps/enrolment/cluster_setting.h"

#include <toml++/toml.h>
#include <algorithm>
#include <cctype>

#include "apps/enrolment/authority.h"
#include "apps/enrolment/device_bundle.h"
#include "core/byte_size.h"
#include "core/model/units.h"
#include "core/model/zoo.h"
#include "net/topics.h"

namespace weft::apps {
namespace {

constexpr const char* kModelSuffix = ".safetensors";
constexpr const char* kDeviceState = "/var/lib/weft/edge";  // where the device's service may write

// As in a host's name: labels of letters, digits and '-' between dots.
bool IsHostName(const std::string& host) {
  return !host.empty() && host.size() <= 253 && host.front() != '.' && host.front() != '-' &&
         host.find("..") == std::string::npos &&
         std::all_of(host.begin(), host.end(), [](unsigned char c) {
           return c < 0x80 && (std::isalnum(c) != 0 || c == '-' || c == '.');
         });
}

bool IsThisMachine(const std::string& host) {
  return host == "localhost" || host == "::1" || (IsAddress(host) && host.starts_with("127."));
}

std::string Line(const std::string& key, const std::string& value) {
  return key + " = " + TomlText(value) + "\n";
}

std::string Line(const std::string& key, int64_t value) {
  return key + " = " + std::to_string(value) + "\n";
}

std::string BrokerLines(const ClusterSetting& setting, const std::string& folder,
                        const std::string& certificate, const std::string& key) {
  return Line("broker", setting.host + ":" + std::to_string(setting.port)) +
         Line("ca", folder + "/" + kAuthorityName) + Line("cert", folder + "/" + certificate) +
         Line("key", folder + "/" + key);
}

ps::BrokerJob BrokerJobOf(const ClusterSetting& setting, const std::string& folder) {
  return {.job = setting.job,
          .workers = setting.workers,
          .shards = setting.shards,
          .window_bytes = static_cast<int64_t>(ParseBytes(setting.window).value()),
          .segment_bytes = static_cast<int64_t>(ParseBytes(setting.segment).value()),
          .port = setting.port,
          .tls = ps::BrokerTls{.ca_file = folder + "/ca.crt",
                               .certificate_file = folder + "/broker.crt",
                               .key_file = folder + "/broker.key",
                               .revoked_file = folder + "/ca.crl"},
          .address = IsThisMachine(setting.host) ? setting.host : "",
          .guard_file = setting.guard_file,
          .acl_path = folder + "/acl"};
}

// All but what is for the servers' configurations only.
Status ValidateMeeting(const ClusterSetting& setting) {
  if (!CanBeHost(setting.host)) {
    return Status::InvalidInput("--host '" + setting.host +
                                "' is neither a host's name nor an address in numbers; give what "
                                "devices will call the broker's machine");
  }
  if (!net::IsName(setting.job)) {
    return Status::InvalidInput("--job '" + setting.job +
                                "' is no name for a job: 1 to 64 letters, digits, '-', '_' and "
                                "'.', not beginning with a '.'");
  }
  for (const auto& [flag, text] :
       {std::pair{"--segment", &setting.segment}, std::pair{"--window", &setting.window}}) {
    if (const Result<size_t> bytes = ParseBytes(*text); !bytes.ok()) {
      return bytes.status().WithContext(flag);
    }
  }
  return ps::PlanBroker(BrokerJobOf(setting, ".")).status();
}

}  // namespace

bool CanBeHost(const std::string& host) { return IsAddress(host) || IsHostName(host); }

Status Validate(const ClusterSetting& setting) {
  if (Status status = ValidateMeeting(setting); !status.ok()) return status;
  const Result<model::Graph> graph = model::BuildModel(setting.model);
  if (!graph.ok()) return graph.status();
  const size_t units = model::CutIntoUnits(*graph).size();
  if (static_cast<size_t>(setting.shards) > units) {
    return Status::InvalidInput("--shards " + std::to_string(setting.shards) + ": " +
                                setting.model + " has " + std::to_string(units) +
                                " units, and each server needs at least one");
  }
  return Status::Ok();
}

std::string ClusterText(const ClusterSetting& setting) {
  return "# What `weft cluster init` was told; `weft cluster` reads it again.\n" +
         Line("host", setting.host) + Line("port", setting.port) + Line("job", setting.job) +
         Line("workers", setting.workers) + Line("shards", setting.shards) +
         Line("segment", setting.segment) + Line("window", setting.window) +
         (setting.guard_file.empty() ? "" : Line("guard", setting.guard_file));
}

Result<ClusterSetting> ParseCluster(const std::string& text) {
  ClusterSetting setting;
  try {
    const toml::table table = toml::parse(text);
    setting.host = table["host"].value_or(std::string());
    setting.port = table["port"].value_or(0);
    setting.job = table["job"].value_or(std::string());
    setting.workers = table["workers"].value_or(0);
    setting.shards = table["shards"].value_or(1);
    setting.segment = table["segment"].value_or(std::string());
    setting.window = table["window"].value_or(std::string());
    setting.guard_file = table["guard"].value_or(std::string());
  } catch (const toml::parse_error& error) {
    return Status::InvalidInput(std::string(error.description()));
  }
  if (Status status = ValidateMeeting(setting); !status.ok()) return status;
  return setting;
}

Result<ps::BrokerPlan> PlanClusterBroker(const ClusterSetting& setting, const std::string& folder,
                                         const std::vector<std::string>& revoked) {
  ps::BrokerJob job = BrokerJobOf(setting, folder);
  job.shut_out = revoked;
  return ps::PlanBroker(job);
}

std::string ServerStem(const ClusterSetting& setting, int shard) {
  return setting.shards > 1 ? "ps" + std::to_string(shard) : "ps";
}

std::string ServerText(const ClusterSetting& setting, int shard, const std::string& folder) {
  const std::string stem = ServerStem(setting, shard);
  std::string text = "# For `weft-ps serve --config`: every key is one of its flags.\n" +
                     BrokerLines(setting, folder, stem + ".crt", stem + ".key") +
                     Line("job", setting.job);
  std::string state = setting.state;
  if (setting.shards > 1) {
    text += Line("shard", std::to_string(shard) + "/" + std::to_string(setting.shards));
    state += "/" + stem;
  }
  text += Line("state", state) + Line("model", setting.model);
  if (!setting.input.empty()) text += Line("input", setting.input);
  if (setting.classes > 0) text += Line("classes", setting.classes);
  text += Line("rounds", setting.rounds);
  if (setting.batch > 0) text += Line("batch", setting.batch);
  // No server of several has the whole model.
  if (setting.shards == 1) text += Line("save", setting.state + "/" + setting.job + kModelSuffix);
  // The broker's memory is planned for so many.
  return text + Line("workers", setting.workers) + Line("max-workers", setting.workers) +
         Line("segment", setting.segment) + Line("window", setting.window);
}

std::string DeviceText(const ClusterSetting& setting, const std::string& name,
                       const DeviceChoices& choices) {
  std::string text = "# For `weft-edge train --config`: every key is one of its flags.\n" +
                     BrokerLines(setting, kDeviceFolder, kCertificateName, kKeyName) +
                     Line("job", setting.job) + Line("worker", name);
  if (setting.shards > 1) text += Line("shards", setting.shards);
  if (!choices.share.empty()) text += Line("share", choices.share);
  if (setting.shards > 1) {
    text += "# No server has the whole trained model; one device should save it:\n# " +
            Line("save", std::string(kDeviceState) + "/" + setting.job + kModelSuffix);
  }
  text += choices.data.empty() ? "# data = \"KIND:PATH\": where this device's images are\n"
                               : Line("data", choices.data);
  return text;
}

}  // namespace weft::apps
