// SPDX-License-Identifier: Apache-2.0
// A Mosquitto that a command starts for itself in a network namespace, with the configuration it
// comes with. It goes with this object, and so do its files.
#pragma once

#include <memory>
#include <string>

#include "apps/weft/program.h"
#include "core/status.h"
#include "net/link/network_namespace.h"

namespace weft::apps {

class OwnBroker {
 public:
  struct Spec {
    const net::NetworkNamespace* place = nullptr;
    std::string address;  // in numbers; listens there, and anybody may do anything
    int port = 1883;
    bool tls = false;  // with a certificate that is made for the occasion, by openssl
  };

  // Ready to be connected to. Unavailable, with what it said, if it does not come up; InvalidInput
  // if mosquitto, or openssl, is not installed.
  static Result<std::unique_ptr<OwnBroker>> Start(const Spec& spec);
  ~OwnBroker();
  OwnBroker(const OwnBroker&) = delete;
  OwnBroker& operator=(const OwnBroker&) = delete;

  // The file with which a client trusts it; empty without TLS.
  const std::string& ca_file() const { return ca_file_; }

 private:
  OwnBroker() = default;
  Status MakeCertificate(const std::string& address);
  Status Run(const Spec& spec);

  std::string folder_;
  std::string ca_file_;
  int log_ = -1;  // the reading end of what it says
  std::unique_ptr<Program> program_;
};

}  // namespace weft::apps
