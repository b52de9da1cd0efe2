// SPDX-License-Identifier: Apache-2.0
// `weft cluster`: who belongs to a cluster. Makes one, enrols devices, shuts them out again.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "apps/enrolment/cluster_folder.h"
#include "apps/enrolment/private_files.h"
#include "apps/terminal/text.h"
#include "apps/weft/commands.h"

namespace weft::apps {
namespace {

constexpr const char* kSystemFolder = "/etc/weft/cluster";
constexpr size_t kDayLetters = 10;  // "2036-11-15"

struct ClusterFlags {
  std::string folder;  // of init; of the others, --dir
  ClusterSetting setting;
  std::string device;
  std::string host;  // of renew
  DeviceChoices choices;
  bool json = false;
};

int64_t Now() { return static_cast<int64_t>(std::time(nullptr)); }

Result<ClusterFolder> OpenFolder(const ClusterFlags& flags) {
  if (!flags.folder.empty()) return ClusterFolder::Open(flags.folder);
  return ClusterFolder::Open(ClusterFolder::IsThere(".") ? "." : kSystemFolder);
}

// The plugin that came with this program; empty if none did.
std::string GuardFile() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path guard =
      self.parent_path().parent_path() / "lib" / "weft" / "weft_guard.so";
  return !error && std::filesystem::is_regular_file(guard, error) ? guard.string() : "";
}

Status RunInit(const ClusterFlags& flags, Console& console) {
  ClusterSetting setting = flags.setting;
  setting.guard_file = GuardFile();
  const Result<ClusterFolder> made = ClusterFolder::Init(flags.folder, setting, Now());
  if (!made.ok()) return made.status();
  const ClusterFolder& cluster = *made;
  const Result<ps::BrokerPlan> plan =
      PlanClusterBroker(cluster.setting(), cluster.path() + "/broker", {});
  if (!plan.ok()) return plan.status();
  if (!plan->warning.empty()) console.err << "weft: " << plan->warning << "\n";
  if (setting.guard_file.empty()) {
    console.err
        << "weft: weft_guard.so did not come with this program, so the broker will not send "
           "away devices that flood it; install the package weft-ps, or ./dev build\n";
  }
  if (flags.json) {
    console.out << nlohmann::json{{"cluster", cluster.path()},
                                  {"broker_config", cluster.broker_config()},
                                  {"guard", cluster.setting().guard_file},
                                  {"server_configs", cluster.server_configs()},
                                  {"broker_memory_bytes", plan->memory_bytes}}
                << "\n";
    return Status::Ok();
  }
  console.out << fmt::format(
      "cluster of job {0} in {1}, for up to {2} devices\n"
      "keep {1}/ca to yourself: whoever has its key can be any device\n\n"
      "broker:  ln -s {3} /etc/mosquitto/conf.d/weft.conf && systemctl restart mosquitto\n"
      "{5}"
      "server:  weft-ps serve --config {4}\n"
      "device:  weft cluster add DEVICE --dir {1}\n",
      cluster.setting().job, cluster.path(), cluster.setting().workers, cluster.broker_config(),
      fmt::join(cluster.server_configs(), "\nserver:  weft-ps serve --config "),
      cluster.setting().guard_file.empty()
          ? ""
          : fmt::format("         it loads {}\n", cluster.setting().guard_file));
  return Status::Ok();
}

Status RunAdd(const ClusterFlags& flags, Console& console) {
  Result<ClusterFolder> cluster = OpenFolder(flags);
  if (!cluster.ok()) return cluster.status();
  const Result<std::string> bundle = cluster->Add(flags.device, flags.choices, Now());
  if (!bundle.ok()) return bundle.status();
  const Result<std::vector<Member>> members = cluster->Members(Now());
  if (!members.ok()) return members.status();
  int active = 0;
  for (const Member& member : *members) {
    if (member.role == "device" && member.state == Member::State::kActive) ++active;
  }
  if (active > cluster->setting().workers) {
    console.err << fmt::format(
        "weft: these are {} devices, and the broker and the server were made for {}; the server "
        "turns the others away\n",
        active, cluster->setting().workers);
  }
  if (flags.json) {
    console.out << nlohmann::json{{"device", flags.device}, {"bundle", *bundle}} << "\n";
    return Status::Ok();
  }
  console.out << fmt::format(
      "{1}\nholds the key of {0}: bring it there by a safe way, and there:  weft-edge enrol "
      "{0}.tar\n",
      flags.device, *bundle);
  return Status::Ok();
}

Status RunRevoke(const ClusterFlags& flags, Console& console) {
  Result<ClusterFolder> cluster = OpenFolder(flags);
  if (!cluster.ok()) return cluster.status();
  if (Status status = cluster->Revoke(flags.device, Now()); !status.ok()) return status;
  if (flags.json) {
    console.out << nlohmann::json{{"device", flags.device}, {"state", "revoked"}} << "\n";
    return Status::Ok();
  }
  console.out << fmt::format(
      "{} is revoked; tell the broker:  systemctl reload mosquitto  (or kill -HUP it)\n"
      "it then can neither connect, nor send or hear anything if it is connected\n",
      flags.device);
  return Status::Ok();
}

// How mosquitto.conf would say where the broker listens; empty if it does say that.
Result<std::string> MissingListener(const ClusterFolder& cluster) {
  const Result<ps::BrokerPlan> plan =
      PlanClusterBroker(cluster.setting(), cluster.path() + "/broker", {});
  if (!plan.ok()) return plan.status();
  const Result<std::string> config = ReadSmallFile(cluster.broker_config(), 1 << 20);
  if (!config.ok()) return config.status();
  const size_t at = plan->config.find("listener ");
  const std::string line = plan->config.substr(at, plan->config.find('\n', at) - at);
  return ("\n" + *config).find("\n" + line + "\n") == std::string::npos ? line : "";
}

Status RunRenew(const ClusterFlags& flags, Console& console) {
  Result<ClusterFolder> cluster = OpenFolder(flags);
  if (!cluster.ok()) return cluster.status();
  if (Status status = cluster->Renew(flags.host, Now()); !status.ok()) return status;
  const Result<std::vector<Member>> members = cluster->Members(Now());
  if (!members.ok()) return members.status();
  const Result<std::string> listener = MissingListener(*cluster);
  if (!listener.ok()) return listener.status();
  CertificateFacts broker;
  std::vector<std::string> devices;
  for (const Member& member : *members) {
    if (member.role == "broker") broker = member.facts;
    if (member.role == "device" && member.state == Member::State::kActive) {
      devices.push_back(member.name);
    }
  }
  if (flags.json) {
    console.out << nlohmann::json{{"cluster", cluster->path()}, {"host", cluster->setting().host},
                                  {"hosts", broker.hosts},      {"expires", broker.expires},
                                  {"devices", devices},         {"missing_listener", *listener}}
                << "\n";
    return Status::Ok();
  }
  console.out << fmt::format(
      "broker and server have new certificates until {}, the broker's for {}\n"
      "tell the broker:  systemctl reload mosquitto  (or kill -HUP it)\n"
      "and the server:   systemctl restart weft-ps  (elsewhere, copy its .crt there before)\n",
      broker.expires.substr(0, kDayLetters), fmt::join(broker.hosts, ", "));
  if (!flags.host.empty() && !listener->empty()) {
    console.out << fmt::format("see that it listens there; {} should say:  {}\n",
                               cluster->broker_config(), *listener);
  }
  if (!flags.host.empty() && !devices.empty()) {
    console.out << fmt::format(
        "devices that are added now will call it {}; those there are ({}) and the server go on "
        "with the name they were given, or with another `broker` in their edge.toml and ps.toml\n",
        flags.host, fmt::join(devices, ", "));
  }
  return Status::Ok();
}

// Of those that end within a quarter of a year: what to do. Empty if there is none.
std::string EndingText(const std::vector<Member>& members) {
  constexpr int kSoonDays = 90;
  std::string text;
  for (const Member& member : members) {
    const bool gone = member.state == Member::State::kExpired;
    if (member.state == Member::State::kRevoked || (!gone && member.facts.days_left >= kSoonDays)) {
      continue;
    }
    std::string advice = "`weft cluster renew` makes another";
    if (member.role == "authority") advice = "then a new cluster is needed";
    if (member.role == "device") {
      advice = (gone ? "" : "`weft cluster revoke " + member.name + "`, then ") +
               "`weft cluster add " + member.name + "` makes another";
    }
    text += gone ? fmt::format("{} is expired: {}\n", member.name, advice)
                 : fmt::format("{} expires in {} days: {}\n", member.name, member.facts.days_left,
                               advice);
  }
  return text;
}

Status RunList(const ClusterFlags& flags, Console& console) {
  const Result<ClusterFolder> cluster = OpenFolder(flags);
  if (!cluster.ok()) return cluster.status();
  const Result<std::vector<Member>> members = cluster->Members(Now());
  if (!members.ok()) return members.status();
  if (flags.json) {
    nlohmann::json listed = nlohmann::json::array();
    for (const Member& member : *members) {
      listed.push_back({{"name", member.name},
                        {"role", member.role},
                        {"state", Name(member.state)},
                        {"expires", member.facts.expires},
                        {"days_left", member.facts.days_left},
                        {"fingerprint", member.facts.fingerprint}});
    }
    console.out << nlohmann::json{{"cluster", cluster->path()},
                                  {"host", cluster->setting().host},
                                  {"port", cluster->setting().port},
                                  {"job", cluster->setting().job},
                                  {"members", listed}}
                << "\n";
    return Status::Ok();
  }
  constexpr size_t kFingerprint = 16;  // of 64 digits; --json has all
  Table table({"name", "role", "state", "expires", "fingerprint"});
  for (const Member& member : *members) {
    table.Add({member.name, member.role, std::string(Name(member.state)),
               member.facts.expires.substr(0, kDayLetters),
               member.facts.fingerprint.substr(0, kFingerprint)});
  }
  console.out << table.Text() << EndingText(*members);
  return Status::Ok();
}

void AddInitFlags(CLI::App& init, ClusterFlags& flags) {
  ClusterSetting& s = flags.setting;
  init.add_option("dir", flags.folder, "A new folder for it")->required();
  init.add_option("--host", s.host, "Name or address by which devices reach the broker")
      ->required();
  init.add_option("--port", s.port, "The broker's port")
      ->check(CLI::Range(1, 65535))
      ->capture_default_str();
  init.add_option("--job", s.job, "Name of the job")->capture_default_str();
  init.add_option("--workers", s.workers, "Devices that take part")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  init.add_option("--shards", s.shards, "Servers that share the model, each with a part of it")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  init.add_option("--model", s.model, "Model of the zoo; `weft model` lists them")
      ->capture_default_str();
  init.add_option("--input", s.input, "Images as CHANNELSxHEIGHTxWIDTH; else the model's own");
  init.add_option("--classes", s.classes, "Classes of the data; else the model's own")
      ->check(CLI::Range(0, 1'000'000));
  init.add_option("--rounds", s.rounds, "How many rounds to train")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000'000}))
      ->capture_default_str();
  init.add_option("--batch", s.batch, "Images in a device's step")->check(CLI::Range(1, 65536));
  init.add_option("--state", s.state,
                  "Folder for what a killed server needs to go on, and for the trained model")
      ->capture_default_str();
  init.add_option("--segment", s.segment, "Largest message, such as 256KiB")->capture_default_str();
  init.add_option("--window", s.window, "Most bytes on the way to or from one device at a time")
      ->capture_default_str();
}

}  // namespace

Command AddClusterCommand(CLI::App& app) {
  auto flags = std::make_shared<ClusterFlags>();
  ClusterFlags& f = *flags;
  CLI::App* cluster = app.add_subcommand("cluster", "Certificates: who belongs to a cluster");
  cluster->require_subcommand(1);
  CLI::App* init = cluster->add_subcommand("init", "Make a cluster's folder");
  CLI::App* add = cluster->add_subcommand("add", "Enrol a device: writes its bundle");
  CLI::App* revoke = cluster->add_subcommand("revoke", "Shut a device out");
  CLI::App* list = cluster->add_subcommand("list", "Who is in, until when");
  CLI::App* renew = cluster->add_subcommand(
      "renew", "New certificates for broker and server, or another name for the broker");
  AddInitFlags(*init, f);
  for (CLI::App* command : {add, revoke}) {
    command->add_option("device", f.device, "Its name; also its name in the job")->required();
  }
  add->add_option("--data", f.choices.data, "KIND:PATH of the images on the device");
  add->add_option("--share", f.choices.share, "INDEX/COUNT of the data, where devices share one");
  renew->add_option("--host", f.host, "What devices call the broker from now on");
  for (CLI::App* command : {add, revoke, list, renew}) {
    command->add_option("--dir", f.folder,
                        "The cluster's folder: this one, or else /etc/weft/cluster");
  }
  for (CLI::App* command : {init, add, revoke, list, renew}) {
    command->add_flag("--json", f.json, "One JSON object on stdout");
  }
  return {cluster, [=](Console& console) {
            if (init->parsed()) return RunInit(*flags, console);
            if (add->parsed()) return RunAdd(*flags, console);
            if (revoke->parsed()) return RunRevoke(*flags, console);
            if (renew->parsed()) return RunRenew(*flags, console);
            return RunList(*flags, console);
          }};
}

}  // namespace weft::apps
