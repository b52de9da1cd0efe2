// SPDX-License-Identifier: Apache-2.0
#include "apps/weft/own_broker.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace weft::apps {

namespace {

constexpr int kPatienceMs = 10'000;

}  // namespace

Result<std::unique_ptr<OwnBroker>> OwnBroker::Start(const Spec& spec) {
  std::unique_ptr<OwnBroker> broker(new OwnBroker);
  std::string folder = (std::filesystem::temp_directory_path() / "weft-broker-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    return Status::Unavailable("no folder for a broker's files can be made");
  }
  broker->folder_ = folder;
  if (spec.tls) {
    if (Status status = broker->MakeCertificate(spec.address); !status.ok()) return status;
  }
  if (Status status = broker->Run(spec); !status.ok()) return status;
  return broker;
}

OwnBroker::~OwnBroker() {
  program_.reset();
  if (log_ >= 0) close(log_);
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

// One that signs itself is its own authority.
Status OwnBroker::MakeCertificate(const std::string& address) {
  ca_file_ = folder_ + "/broker.crt";
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  Result<std::unique_ptr<Program>> openssl =
      Program::Start({.words = {"openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt",
                                "ec_paramgen_curve:prime256v1", "-subj", "/CN=weft", "-addext",
                                "subjectAltName=IP:" + address, "-days", "2", "-keyout",
                                folder_ + "/broker.key", "-out", ca_file_},
                      .out = nowhere,
                      .err = nowhere});
  close(nowhere);
  if (!openssl.ok()) return openssl.status();
  if ((*openssl)->Wait(kPatienceMs) != 0) {
    return Status::Unavailable("openssl made no certificate for the broker");
  }
  return Status::Ok();
}

Status OwnBroker::Run(const Spec& spec) {
  std::string config = "listener " + std::to_string(spec.port) + " " + spec.address +
                       "\nallow_anonymous true\nset_tcp_nodelay true\nlog_dest stderr\n";
  if (spec.tls) config += "certfile " + ca_file_ + "\nkeyfile " + folder_ + "/broker.key\n";
  if (geteuid() == 0) config += "user root\n";  // whose files these are
  const std::string path = folder_ + "/mosquitto.conf";
  std::ofstream(path) << config;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Status::Unavailable("no pipe could be made");
  log_ = ends[0];
  // Nobody reads once it runs: then what it says is lost, instead of holding it up.
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  Result<std::unique_ptr<Program>> started = Program::Start(
      {.words = {"mosquitto", "-c", path}, .place = spec.place, .out = ends[1], .err = ends[1]});
  close(ends[1]);
  if (!started.ok()) return started.status();
  program_ = std::move(*started);
  std::string said;
  while (said.find(" running\n") == std::string::npos) {
    pollfd waiting{.fd = log_, .events = POLLIN, .revents = 0};
    char text[4096];
    const ssize_t size = poll(&waiting, 1, kPatienceMs) > 0 ? read(log_, text, sizeof(text)) : 0;
    if (size <= 0) {
      said.resize(said.find_last_not_of('\n') + 1);
      return Status::Unavailable("mosquitto does not start: " +
                                 said.substr(said.rfind('\n') + 1));  // its last line
    }
    said.append(text, static_cast<size_t>(size));
  }
  return Status::Ok();
}

}  // namespace weft::apps
