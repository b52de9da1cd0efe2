// SPDX-License-Identifier: Apache-2.0
#include "tests/doctor/doctor_house.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "apps/weft_edge/edge.h"
#include "apps/weft_ps/ps.h"
#include "cloud_ps/broker/broker_config.h"
#include "tests/doctor/dated_certificate.h"
#include "tests/mqtt/peer.h"

namespace weft::apps {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> Replaced(const std::string& command, const Flags& flags,
                                  const std::vector<std::string>& more) {
  std::vector<std::string> all = {command};
  for (const auto& [flag, value] : flags) {
    if (std::find(more.begin(), more.end(), flag) != more.end()) continue;
    all.insert(all.end(), {flag, value});
  }
  for (size_t i = 0; i < more.size(); i += 2) {
    // An empty value takes the flag away.
    if (i + 1 < more.size() && more[i + 1].empty()) continue;
    all.insert(all.end(), more.begin() + static_cast<long>(i),
               more.begin() + static_cast<long>(std::min(i + 2, more.size())));
  }
  return all;
}

template <typename Run>
Diagnosis Ask(const Run& run, std::vector<std::string> arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const std::atomic<bool> stop = false;
  arguments.push_back("--json");
  Diagnosis said;
  said.exit_code = run(arguments, out, err, Terminal{}, stop);
  said.err = err.str();
  const auto object = nlohmann::json::parse(out.str(), nullptr, false);
  if (object.is_object()) {
    said.checks = object["checks"];
    said.ok = object["ok"];
  }
  return said;
}

}  // namespace

std::string Diagnosis::Field(const std::string& name, const char* field) const {
  for (const nlohmann::json& check : checks) {
    if (check["name"] == name) return check[field];
  }
  return "no such check";
}

std::string Diagnosis::Of(const std::string& state) const {
  std::string names;
  for (const nlohmann::json& check : checks) {
    if (check["state"] != state) continue;
    names += (names.empty() ? "" : ", ") + check["name"].get<std::string>();
  }
  return names;
}

std::string Diagnosis::Failed() const { return Of("fails"); }

const net::Certificates& DoctorHouse::Files() {
  static const net::Certificates files;
  static const bool made = [] {
    files.MakeAuthority("ca");
    files.MakeAuthority("other");
    MakeDated(files, "broker", "ca", "IP:127.0.0.1, DNS:localhost", -kDay, 30 * kDay);
    for (const char* name : {"ps", "w1", "w2"}) {
      MakeDated(files, name, "ca", "", -60, 30 * kDay);
    }
    MakeDated(files, "stranger", "other", "", -60, 30 * kDay);
    return true;
  }();
  static_cast<void>(made);
  return files;
}

net::Broker::Config DoctorHouse::Config(const Change& change) const {
  return [this, change](int port) {
    const net::Certificates& files = Files();
    const Result<ps::BrokerPlan> plan =
        ps::PlanBroker({.job = "digits",
                        .workers = 2,
                        .window_bytes = 4 << 20,
                        .segment_bytes = 128 << 10,
                        .port = port,
                        .tls = ps::BrokerTls{.ca_file = files.Certificate("ca"),
                                             .certificate_file = files.Certificate(change.broker),
                                             .key_file = files.Key(change.broker),
                                             .revoked_file = change.revoked_file},
                        .address = "127.0.0.1",
                        .acl_path = Path("acl")});
    std::string acl = plan->acl;
    if (!change.without.empty()) {
      const size_t at = acl.find(change.without + "\n");
      if (at == std::string::npos) {
        std::fprintf(stderr, "no line '%s' in the ACL\n", change.without.c_str());
        std::abort();
      }
      acl.erase(at, change.without.size() + 1);
    }
    WriteAll(Path("acl"), acl);
    std::string config = plan->config;
    if (change.no_acl) {
      const std::string line = "acl_file " + Path("acl") + "\n";
      config.erase(config.find(line), line.size());
    }
    return config + change.more + "\n";
  };
}

std::unique_ptr<net::Broker> DoctorHouse::StartPlain() { return std::make_unique<net::Broker>(); }

std::vector<std::string> DoctorHouse::Edge(int port, const std::vector<std::string>& more) {
  return Replaced("doctor",
                  {{"--broker", "127.0.0.1:" + std::to_string(port)},
                   {"--ca", Files().Certificate("ca")},
                   {"--cert", Files().Certificate("w1")},
                   {"--key", Files().Key("w1")},
                   {"--job", "digits"},
                   {"--worker", "w1"},
                   {"--data", "synthetic:1x28x28:10:64"},
                   {"--threads", "1"},
                   {"--backend", "ref"},
                   {"--timeout", "5"}},
                  more);
}

std::vector<std::string> DoctorHouse::Server(int port, const std::vector<std::string>& more) const {
  return Replaced("doctor",
                  {{"--broker", "127.0.0.1:" + std::to_string(port)},
                   {"--ca", Files().Certificate("ca")},
                   {"--cert", Files().Certificate("ps")},
                   {"--key", Files().Key("ps")},
                   {"--job", "digits"},
                   {"--state", Path("state")},
                   {"--model", "lenet5"},
                   {"--input", "1x28x28"},
                   {"--classes", "10"},
                   {"--rounds", "10"},
                   {"--timeout", "5"}},
                  more);
}

Diagnosis DoctorHouse::AskEdge(std::vector<std::string> arguments) {
  return Ask(RunEdge, std::move(arguments));
}

Diagnosis DoctorHouse::AskServer(std::vector<std::string> arguments) {
  return Ask(RunPs, std::move(arguments));
}

net::MqttSetting DoctorHouse::As(const std::string& name, int port) {
  net::MqttSetting setting = net::Settings(port, name);
  setting.ca_file = Files().Certificate("ca");
  setting.certificate_file = Files().Certificate(name);
  setting.key_file = Files().Key(name);
  return setting;
}

}  // namespace weft::apps
