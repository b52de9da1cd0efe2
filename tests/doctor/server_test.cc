// SPDX-License-Identifier: Apache-2.0
// The server's own doctor: its topics, its folder, its port, another server; and a real server that
// a device's doctor finds.
#include <atomic>
#include <sstream>

#include "apps/files/checkpoint_folder.h"
#include "apps/job/running_mark.h"
#include "apps/weft_ps/metrics_port.h"
#include "apps/weft_ps/ps.h"
#include "tests/doctor/doctor_house.h"
#include "tests/edge/child_process.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {

TEST_GROUP(DoctorServer) {
  DoctorHouse house;

  // The arguments of the doctor, for the server itself.
  std::vector<std::string> Serve(int port, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = house.Server(port, more);
    arguments[0] = "serve";
    for (size_t i = 1; i < arguments.size(); ++i) {
      if (arguments[i] == "--timeout")
        arguments.erase(arguments.begin() + static_cast<long>(i),
                        arguments.begin() + static_cast<long>(i) + 2);
    }
    return arguments;
  }
};

TEST(DoctorServer, WhereEveryLinkHoldsEveryLineIsGood) {
  const auto broker = house.Start({});
  const Diagnosis said = house.AskServer(
      house.Server(broker->port(), {"--metrics-port", std::to_string(net::FreePort())}));
  STRCMP_EQUAL("", said.err.c_str());
  STRCMP_EQUAL("", said.Failed().c_str());
  STRCMP_EQUAL("", said.Of("not checked").c_str());
  for (const char* name : {"configuration",
                           "model",
                           "key file",
                           "certificate",
                           "TLS",
                           "identity",
                           "listen ctl",
                           "listen push",
                           "listen telemetry",
                           "publish pull",
                           "forbidden publish",
                           "forbidden listening",
                           "meet servers",
                           "other server",
                           "shut out",
                           "limits",
                           "state",
                           "disk",
                           "metrics port",
                           "broker memory"}) {
    STRCMP_EQUAL_TEXT("ok", said.State(name).c_str(), name);
  }
  CHECK_EQUAL(0, said.exit_code);
}

TEST(DoctorServer, LinesOfTheAclThatAreMissingAreNamed) {
  const std::pair<const char*, const char*> lines[] = {
      {"topic write weft/digits/+/pull", "publish pull"},
      {"topic readwrite weft/digits/servers", "meet servers"}};
  for (const auto& [line, check] : lines) {
    const auto broker = house.Start({.without = line});
    const Diagnosis said = house.AskServer(house.Server(broker->port()));
    STRCMP_EQUAL(check, said.Failed().c_str());
    STRCMP_CONTAINS(line, said.Fix(check).c_str());
  }
}

TEST(DoctorServer, AServerThatCannotHaveADeviceShutOutIsWarned) {
  const std::string line = "topic write $CONTROL/weft/shut-out";
  const auto broker = house.Start({.without = line});
  const Diagnosis said = house.AskServer(house.Server(broker->port()));
  STRCMP_EQUAL("", said.Failed().c_str());
  STRCMP_EQUAL("warning", said.State("shut out").c_str());
  STRCMP_CONTAINS("sends away a device that floods", said.Detail("shut out").c_str());
  STRCMP_CONTAINS(line.c_str(), said.Fix("shut out").c_str());
}

TEST(DoctorServer, ABrokerWithoutAnAclIsFoundOut) {
  const auto broker = house.Start({.no_acl = true});
  const Diagnosis said = house.AskServer(house.Server(broker->port()));
  STRCMP_EQUAL("forbidden publish, forbidden listening", said.Failed().c_str());
}

TEST(DoctorServer, AFolderInUseATakenPortAndAHungryJobAreTold) {
  const auto broker = house.Start({});
  const auto state = CheckpointFolder::Open(house.Path("state"));
  CHECK(state.ok());
  const int port = net::FreePort();
  const auto metrics = MetricsPort::Open(port);
  CHECK(metrics.ok());
  const Diagnosis said = house.AskServer(
      house.Server(broker->port(), {"--metrics-port", std::to_string(port), "--workers", "5000",
                                    "--rounds", "100000000", "--checkpoint-every", "100000000"}));
  STRCMP_EQUAL("disk", said.Failed().c_str());
  STRCMP_CONTAINS("a running server has", said.Detail("state").c_str());
  STRCMP_CONTAINS("a running weft-ps has port", said.Detail("metrics port").c_str());
  STRCMP_CONTAINS("5000 workers with windows of 4 MiB may fill the broker",
                  said.Detail("broker memory").c_str());
}

TEST(DoctorServer, WhatIsMissingFromTheConfigurationIsListed) {
  const Diagnosis said = house.AskServer({"doctor", "--broker", "127.0.0.1:1"});
  CHECK_EQUAL(1, said.exit_code);
  STRCMP_EQUAL("--job, --state, --model, --rounds not given", said.Detail("configuration").c_str());
}

// Neither has the whole model.
TEST(DoctorServer, SeveralServersThatAreToSaveAreRefusedAndTheDoctorSaysWhy) {
  const std::vector<std::string> more = {"--shard", "0/2", "--save", house.Path("model")};
  const Diagnosis said = house.AskServer(house.Server(1, more));
  STRCMP_CONTAINS("--save", said.Detail("configuration").c_str());
  std::atomic<bool> stop = true;  // or it would look for a broker
  std::ostringstream out, err;
  CHECK_EQUAL(2, RunPs(Serve(1, more), out, err, {}, stop));
  STRCMP_EQUAL(
      "weft-ps: --save: this server has only a part of the model (--shard 0/2); leave it out, and "
      "give --save to a device\n",
      err.str().c_str());
}

TEST(DoctorServer, AServerThatCouldNotSaveItsModelDoesNotBegin) {
  std::atomic<bool> stop = true;
  std::ostringstream out, err;
  const std::string nowhere = house.Path("nowhere");
  CHECK_EQUAL(2, RunPs(Serve(1, {"--save", nowhere + "/model.safetensors"}), out, err, {}, stop));
  const std::string sentence = "weft-ps: --save: cannot write " + nowhere +
                               "/model.safetensors: " + nowhere + " is not a folder\n";
  STRCMP_EQUAL(sentence.c_str(), err.str().c_str());
  // Into the folder of the state, which it makes itself, it can.
  err.str("");
  CHECK_EQUAL(0, RunPs(Serve(1, {"--save", house.Path("state") + "/model.safetensors"}), out, err,
                       {}, stop));
}

TEST(DoctorServer, ARunningServerIsFoundByDevicesAndLeftInPeaceByItsOwnDoctor) {
  const auto broker = house.Start({});
  ChildProcess server(PsCommand(Serve(broker->port())));
  // It is there when a device is answered.
  Diagnosis device;
  for (int tries = 0; tries < 50; ++tries) {
    device = house.AskEdge(house.Edge(broker->port(), {"--timeout", "1"}));
    if (device.Failed().empty()) break;
  }
  STRCMP_EQUAL("", device.Failed().c_str());
  STRCMP_EQUAL("ok", device.State("echo").c_str());
  STRCMP_EQUAL("ok", device.State("model").c_str());
  const Diagnosis said = house.AskServer(house.Server(broker->port()));
  STRCMP_EQUAL("", said.Failed().c_str());
  STRCMP_CONTAINS("weft-ps is running as 'ps'", said.Detail("identity").c_str());
  STRCMP_CONTAINS("a running server has", said.Detail("state").c_str());
}

TEST(DoctorServer, AServerOfTheJobOnAnotherMachineObjects) {
  // A broker that gives nobody's place away; and no mark, as on another machine.
  const auto broker = house.Start({.more = "use_username_as_clientid false"});
  const std::string other_text = "localhost:" + std::to_string(broker->port());
  ChildProcess server(PsCommand(Serve(broker->port(), {"--broker", other_text})));
  Diagnosis said;
  for (int tries = 0; tries < 50; ++tries) {
    said = house.AskServer(house.Server(broker->port(), {"--state", house.Path("another")}));
    if (!said.Failed().empty()) break;
  }
  STRCMP_EQUAL("other server", said.Failed().c_str());
  STRCMP_CONTAINS("job 'digits' already has a server, process ",
                  said.Detail("other server").c_str());
}

}  // namespace weft::apps
