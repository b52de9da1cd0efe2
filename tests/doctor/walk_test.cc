// SPDX-License-Identifier: Apache-2.0
// The way to the broker with one link broken at a time: each has its own line, the checks behind it
// are left out, and the exit code says that something is wrong.
#include <ctime>
#include <filesystem>

#include "apps/doctor/own_files.h"
#include "apps/doctor/tls_probe.h"
#include "apps/job/running_mark.h"
#include "tests/doctor/answering_server.h"
#include "tests/doctor/dated_certificate.h"
#include "tests/doctor/doctor_house.h"
#include "tests/edge/child_process.h"
#include "tests/mqtt/peer.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

std::string Port(const net::Broker& broker) { return std::to_string(broker.port()); }

// `link` fails with these words, alone, and what needs it is not checked.
void CheckBroken(const Diagnosis& said, const std::string& link, const std::string& words,
                 const std::string& fix) {
  STRCMP_EQUAL("", said.err.c_str());
  STRCMP_EQUAL(link.c_str(), said.Failed().c_str());
  STRCMP_CONTAINS(words.c_str(), said.Detail(link).c_str());
  STRCMP_CONTAINS(fix.c_str(), said.Fix(link).c_str());
  STRCMP_EQUAL("not checked", said.State("server").c_str());
  STRCMP_EQUAL(("because '" + link + "' fails").c_str(), said.Detail("server").c_str());
  CHECK_EQUAL(1, said.exit_code);
  CHECK_FALSE(said.ok);
}

}  // namespace

TEST_GROUP(DoctorWalk) { DoctorHouse house; };

TEST(DoctorWalk, WhereEveryLinkHoldsEveryLineIsGood) {
  const auto broker = house.Start({});
  const AnsweringServer server(house.As("ps", broker->port()), AnsweringServer::Lenet());
  const Diagnosis said = house.AskEdge(house.Edge(broker->port()));
  STRCMP_EQUAL("", said.err.c_str());
  STRCMP_EQUAL("", said.Failed().c_str());
  STRCMP_EQUAL("", said.Of("not checked").c_str());
  for (const char* name : {"configuration",
                           "key file",
                           "clock",
                           "certificate",
                           "name",
                           "port",
                           "TLS",
                           "identity",
                           "publish ctl",
                           "publish push",
                           "publish telemetry",
                           "forbidden publish",
                           "forbidden listening",
                           "sole use",
                           "server",
                           "listen pull",
                           "protocol",
                           "echo",
                           "limits",
                           "model",
                           "data",
                           "disk"}) {
    STRCMP_EQUAL_TEXT("ok", said.State(name).c_str(), name);
  }
  CHECK_EQUAL(0, said.exit_code);
  CHECK(said.ok);
}

TEST(DoctorWalk, ANameThatIsNotKnown) {
  const Diagnosis said = house.AskEdge(house.Edge(1, {"--broker", "broker.invalid:8883"}));
  CheckBroken(said, "name", "broker.invalid", "--broker");
}

TEST(DoctorWalk, APortWhereNobodyListens) {
  const int port = net::FreePort();
  const Diagnosis said = house.AskEdge(house.Edge(port));
  CheckBroken(said, "port", "refuses connections", "start the broker");
}

TEST(DoctorWalk, ABrokerThatHangsDoesNotHangTheDoctor) {
  const auto broker = house.Start({});
  broker->Stop();
  const Diagnosis said = house.AskEdge(house.Edge(broker->port(), {"--timeout", "0.5"}));
  broker->Continue();
  CheckBroken(said, "TLS", "no answer to TLS within 0.5 s", "does not hang");
}

TEST(DoctorWalk, ABrokerOfAnotherAuthority) {
  const auto broker = house.Start({});
  const Diagnosis said =
      house.AskEdge(house.Edge(broker->port(), {"--ca", house.Files().Certificate("other")}));
  CheckBroken(said, "TLS", "was not signed by " + house.Files().Certificate("other"), "--ca");
}

TEST(DoctorWalk, ABrokerWhoseCertificateHasExpired) {
  MakeDated(house.Files(), "expired", "ca", "IP:127.0.0.1", -10 * kDay, -3 * kDay);
  const auto broker = house.Start({.broker = "expired"});
  const Diagnosis said = house.AskEdge(house.Edge(broker->port()));
  CheckBroken(said, "TLS", "the broker's certificate expired on ", "renew it");
}

TEST(DoctorWalk, ACertificateOfTheFutureMeansThatTheClockIsNotSet) {
  MakeDated(house.Files(), "future", "ca", "IP:127.0.0.1", 3 * kDay, 30 * kDay);
  const auto broker = house.Start({.broker = "future"});
  const Diagnosis said = house.AskEdge(house.Edge(broker->port()));
  CheckBroken(said, "TLS", "the clock is not set", "timedatectl");
}

TEST(DoctorWalk, AnOwnCertificateOfTheFutureMeansItBeforeAnyNetwork) {
  MakeDated(house.Files(), "w9", "ca", "", 3 * kDay, 30 * kDay);
  const Diagnosis said = house.AskEdge(
      house.Edge(net::FreePort(), {"--worker", "w9", "--cert", house.Files().Certificate("w9"),
                                   "--key", house.Files().Key("w9")}));
  STRCMP_EQUAL("clock, port", said.Failed().c_str());
  STRCMP_CONTAINS("the clock is not set", said.Detail("clock").c_str());
}

TEST(DoctorWalk, AnOwnCertificateThatHasExpiredIsToldBeforeAnyNetwork) {
  MakeDated(house.Files(), "w7", "ca", "", -30 * kDay, -3 * kDay);
  const Diagnosis said = house.AskEdge(
      house.Edge(net::FreePort(), {"--worker", "w7", "--cert", house.Files().Certificate("w7"),
                                   "--key", house.Files().Key("w7")}));
  STRCMP_EQUAL("certificate, port", said.Failed().c_str());
  STRCMP_CONTAINS("w7.crt expired on ", said.Detail("certificate").c_str());
  STRCMP_CONTAINS("and the clock says ", said.Detail("certificate").c_str());
  STRCMP_CONTAINS("weft cluster add", said.Fix("certificate").c_str());
  CHECK_TRUE(said.Fix("certificate").find("runs fast") == std::string::npos);
}

TEST(DoctorWalk, WhereTheAuthoritysHasExpiredTooTheClockMayRunFast) {
  const net::MqttSetting device = house.As("w1", 1);
  const int64_t far = std::time(nullptr) + 40'000 * kDay;
  const Finding clock = CheckClock(device, far);
  CHECK(clock.state == CheckState::kWarning);
  STRCMP_CONTAINS("w1.crt and ", clock.detail.c_str());
  STRCMP_CONTAINS("runs fast", clock.fix.c_str());
  const Finding certificate = CheckCertificate(device, "w1", "--worker", far);
  CHECK(certificate.state == CheckState::kFails);
  STRCMP_CONTAINS("runs fast", certificate.fix.c_str());
  CHECK(CheckClock(device, std::time(nullptr)).state == CheckState::kOk);
}

TEST(DoctorWalk, ABrokerToWhichOurCertificateHasExpired) {
  // Its list of revoked ones has, which it tells in the same words.
  WriteRevoked(house.Files(), "ca", "w2", house.Path("old-list"), -3 * kDay, -kDay);
  auto broker = house.Start({.revoked_file = house.Path("old-list")});
  CheckBroken(house.AskEdge(house.Edge(broker->port())), "TLS",
              "it has expired, or the broker's list of revoked ones has", "the broker's clock");
  // The certificate itself, which a device sees beforehand, unless its clock is late.
  MakeDated(house.Files(), "w6", "ca", "", -30 * kDay, -3 * kDay);
  broker = house.Start({});
  const TlsAnswer answer = ProbeTls(house.As("w6", broker->port()), "127.0.0.1", 5'000);
  CHECK(answer.verdict == TlsVerdict::kOwnExpired);
}

TEST(DoctorWalk, ABrokerOfAnotherName) {
  MakeDated(house.Files(), "elsewhere", "ca", "DNS:elsewhere.example", -kDay, 30 * kDay);
  const auto broker = house.Start({.broker = "elsewhere"});
  const Diagnosis said = house.AskEdge(house.Edge(broker->port()));
  CheckBroken(said, "TLS", "('elsewhere') is for another name than 127.0.0.1", "--broker");
}

TEST(DoctorWalk, ARevokedDevice) {
  MakeDated(house.Files(), "w8", "ca", "", -60, 30 * kDay);
  WriteRevoked(house.Files(), "ca", "w8", house.Path("revoked"));
  const auto broker = house.Start({.revoked_file = house.Path("revoked")});
  const Diagnosis said = house.AskEdge(
      house.Edge(broker->port(), {"--worker", "w8", "--cert", house.Files().Certificate("w8"),
                                  "--key", house.Files().Key("w8")}));
  CheckBroken(said, "TLS", "it was revoked", "weft cluster add");
}

TEST(DoctorWalk, ADeviceOfAnotherAuthority) {
  const auto broker = house.Start({});
  const Diagnosis said = house.AskEdge(house.Edge(
      broker->port(), {"--worker", "stranger", "--cert", house.Files().Certificate("stranger"),
                       "--key", house.Files().Key("stranger")}));
  CheckBroken(said, "TLS", "it does not know who signed it", "weft cluster add");
}

TEST(DoctorWalk, ADeviceWithoutACertificate) {
  const auto broker = house.Start({});
  const Diagnosis said = house.AskEdge(house.Edge(broker->port(), {"--cert", "", "--key", ""}));
  CheckBroken(said, "TLS", "asks for a certificate, and none is given", "--cert and --key");
}

TEST(DoctorWalk, TlsWhereThereIsNoneAndNoneWhereThereIs) {
  const auto plain = house.StartPlain();
  CheckBroken(house.AskEdge(house.Edge(plain->port())), "TLS",
              "the broker does not speak TLS on this port", "8883");
  const auto secure = house.Start({});
  CheckBroken(house.AskEdge(house.Edge(secure->port(), {"--ca", "", "--cert", "", "--key", ""})),
              "TLS", "the broker speaks TLS on this port, and no --ca is given", "give --ca");
}

TEST(DoctorWalk, AUserWhoIsNotLetIn) {
  const net::Broker broker(
      [](int port) { return "listener " + std::to_string(port) + " 127.0.0.1\n"; });
  const Diagnosis said =
      house.AskEdge(house.Edge(broker.port(), {"--ca", "", "--cert", "", "--key", ""}));
  CheckBroken(said, "identity", "does not let in user 'w1'", "allow_anonymous");
}

TEST(DoctorWalk, AKeyThatOthersCanReadIsToldAndTheRestIsStillChecked) {
  const auto broker = house.Start({});
  const std::string key = house.Path("open.key");
  std::filesystem::copy_file(house.Files().Key("w1"), key);
  std::filesystem::permissions(key, std::filesystem::perms(0644));
  const AnsweringServer server(house.As("ps", broker->port()), AnsweringServer::Lenet());
  const Diagnosis said = house.AskEdge(house.Edge(broker->port(), {"--key", key}));
  STRCMP_EQUAL("key file", said.Failed().c_str());
  STRCMP_CONTAINS("has mode 0644", said.Detail("key file").c_str());
  STRCMP_CONTAINS("chmod 600", said.Fix("key file").c_str());
  STRCMP_EQUAL("ok", said.State("model").c_str());
  CHECK_EQUAL(1, said.exit_code);
}

TEST(DoctorWalk, ACertificateThatIsForAnotherDevice) {
  const Diagnosis said = house.AskEdge(house.Edge(net::FreePort(), {"--worker", "w2"}));
  STRCMP_EQUAL("certificate, port", said.Failed().c_str());
  STRCMP_CONTAINS("is the certificate of 'w1', and --worker is 'w2'",
                  said.Detail("certificate").c_str());
}

TEST(DoctorWalk, AKeyThatIsNotTheCertificates) {
  const Diagnosis said =
      house.AskEdge(house.Edge(net::FreePort(), {"--key", house.Files().Key("w2")}));
  STRCMP_CONTAINS("is not the key of", said.Detail("certificate").c_str());
}

TEST(DoctorWalk, ARunningDeviceIsLeftInPeace) {
  const auto broker = house.Start({});
  net::Peer live(house.As("w1", broker->port()));
  CHECK(live.AwaitConnected());
  const RunningMark mark("127.0.0.1:" + Port(*broker), "w1");
  const Diagnosis said = house.AskEdge(house.Edge(broker->port()));
  STRCMP_EQUAL("", said.Failed().c_str());
  STRCMP_EQUAL("warning", said.State("identity").c_str());
  STRCMP_CONTAINS("weft-edge is running as 'w1'", said.Detail("identity").c_str());
  STRCMP_EQUAL("because weft-edge is running", said.Detail("server").c_str());
  STRCMP_EQUAL("ok", said.State("TLS").c_str());
  CHECK_EQUAL(0, said.exit_code);
  CHECK(live.Never([&] { return !live.connected; }, 0.3));
  CHECK_EQUAL(1, live.connections);
}

TEST(DoctorWalk, ADeviceOfTheSameNameElsewhereIsNoticedAndGetsItsPlaceBack) {
  const auto broker = house.Start({});
  const AnsweringServer server(house.As("ps", broker->port()), AnsweringServer::Lenet());
  net::Peer live(house.As("w1", broker->port()));
  CHECK(live.AwaitConnected());
  // It is back at once, but on a busy machine not always before the doctor has left.
  Diagnosis said;
  for (int tries = 0; tries < 20 && said.exit_code != 1; ++tries) {
    said = house.AskEdge(house.Edge(broker->port()));
  }
  STRCMP_CONTAINS("the name is in use on another machine", said.checks.dump().c_str());
  CHECK_EQUAL(1, said.exit_code);
  CHECK(live.Until([&] { return live.connections >= 2; }));
}

TEST(DoctorWalk, TheProgramItselfSaysSoLineByLine) {
  ChildProcess doctor(EdgeCommand(house.Edge(net::FreePort())));
  std::vector<std::string> lines;
  while (const std::optional<std::string> line = doctor.NextLine()) lines.push_back(*line);
  CHECK_EQUAL(1, doctor.Wait());
  CHECK(lines.size() > 10);
  STRCMP_CONTAINS("ok       configuration       worker 'w1' of job 'digits'", lines[0].c_str());
  bool told = false;
  bool rest = false;
  for (const std::string& line : lines) {
    told = told || line.find("fails    port                127.0.0.1 port ") == 0;
    rest = rest || line.find(" others           not checked, because 'port' fails: TLS, ") == 11;
  }
  CHECK(told);
  CHECK(rest);
  STRCMP_CONTAINS("1 fails", lines.back().c_str());
}

}  // namespace weft::apps
