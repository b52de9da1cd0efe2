// SPDX-License-Identifier: Apache-2.0
// A broker with certificates and an ACL, as our own configuration has them, whose links a test can
// break one by one, and the doctors of a device w1 and of a server in it.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "net/mqtt/mqtt_setting.h"
#include "tests/files/scratch_folder.h"
#include "tests/mqtt/broker.h"
#include "tests/mqtt/certificates.h"

namespace weft::apps {

// What a doctor said with --json.
struct Diagnosis {
  int exit_code = -1;
  std::string err;
  nlohmann::json checks;  // the array
  bool ok = false;

  std::string State(const std::string& name) const { return Field(name, "state"); }
  std::string Detail(const std::string& name) const { return Field(name, "detail"); }
  std::string Fix(const std::string& name) const { return Field(name, "fix"); }
  // The names of the checks that failed, with spaces between.
  std::string Failed() const;
  std::string Of(const std::string& state) const;

 private:
  std::string Field(const std::string& name, const char* field) const;
};

class DoctorHouse {
 public:
  // Certificates are made once for all tests: "ca" with "broker", "ps" and "w1"; "other" with
  // "stranger".
  static const net::Certificates& Files();

  struct Change {
    std::string without = {};       // this line of the ACL is missing
    bool no_acl = false;            // and here all are
    std::string broker = "broker";  // whose certificate it shows
    std::string revoked_file = {};
    std::string more = {};  // lines behind the others
  };
  // Lines of the configuration are changed where `change` says so.
  net::Broker::Config Config(const Change& change) const;
  std::unique_ptr<net::Broker> Start(const Change& change) const {
    return std::make_unique<net::Broker>(Config(change));
  }
  static std::unique_ptr<net::Broker> StartPlain();

  // The arguments of a good device and a good server; a flag of `more` replaces the same one.
  static std::vector<std::string> Edge(int port, const std::vector<std::string>& more = {});
  std::vector<std::string> Server(int port, const std::vector<std::string>& more = {}) const;
  static Diagnosis AskEdge(std::vector<std::string> arguments);
  static Diagnosis AskServer(std::vector<std::string> arguments);

  // For peers of a test.
  static net::MqttSetting As(const std::string& name, int port);

  std::string Path(const std::string& name) const { return folder_.Path(name); }

 private:
  ScratchFolder folder_;
};

}  // namespace weft::apps
