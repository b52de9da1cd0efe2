// SPDX-License-Identifier: Apache-2.0
// F39: certificates that are good, wrong, or missing. Each failure is told in a sentence that names
// the file, and ends when the file is put right.
#include <algorithm>
#include <filesystem>
#include <string>

#include "tests/mqtt/broker.h"
#include "tests/mqtt/certificates.h"
#include "tests/mqtt/peer.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {

namespace {

// An authority "ca" with a broker and the device w1, and another authority, "other".
class House {
 public:
  House() {
    files.MakeAuthority("ca");
    files.MakeAuthority("other");
    files.MakeServer("broker", "ca", "IP:127.0.0.1, DNS:localhost");
    files.MakeDevice("w1", "ca");
    files.MakeDevice("stranger", "other");
  }

  Broker::Config WithTls() const {
    return [this](int port) {
      return "listener " + std::to_string(port) + " 127.0.0.1\ncafile " + files.Certificate("ca") +
             "\ncertfile " + files.Certificate("broker") + "\nkeyfile " + files.Key("broker") +
             "\nrequire_certificate true\nuse_identity_as_username true\n" +
             "tls_version tlsv1.2\nallow_anonymous false\nset_tcp_nodelay true\n";
    };
  }

  MqttSetting Device(int port, const std::string& name,
                     const std::vector<std::string>& subscriptions = {}) const {
    MqttSetting setting = Settings(port, name, subscriptions);
    setting.username = "";
    setting.ca_file = files.Certificate("ca");
    setting.certificate_file = files.Certificate(name);
    setting.key_file = files.Key(name);
    return setting;
  }

  Certificates files;
};

// It fails with these words, and is still trying afterwards. It may have other words, too: what the
// broker says last is lost when we come to write after it has closed, and then there is a guess.
void CheckToldAndTrying(Peer* worker, const std::string& words) {
  CHECK(worker->Until([&] {
    return std::any_of(worker->reasons.begin(), worker->reasons.end(), [&](const Status& why) {
      return why.message().find(words) != std::string::npos;
    });
  }));
  const int64_t attempts = worker->transport->counts().attempts;
  CHECK(worker->Until([&] { return worker->transport->counts().attempts > attempts; }));
}

}  // namespace

TEST_GROUP(MqttTls){};

TEST(MqttTls, WithGoodCertificatesLargeMessagesGoBothWays) {
  const House house;
  house.files.MakeDevice("ps", "ca");
  const Broker broker(house.WithTls());
  Peer server(house.Device(broker.port(), "ps", {"weft/+/+/push"}));
  Peer worker(house.Device(broker.port(), "w1", {"weft/job/w1/pull"}));
  CHECK(server.AwaitConnected());
  CHECK(worker.AwaitConnected());
  const std::string large(300'000, 'g');
  for (int i = 0; i < 20; ++i) {
    worker.Say("weft/job/w1/push", large);
    server.Say("weft/job/w1/pull", large);
    server.Say("weft/job/w1/pull", "small");
  }
  CHECK(server.AwaitMessages(20));
  CHECK(worker.AwaitMessages(40));
  CHECK(server.Text(19) == large);
  CHECK(worker.Text(38) == large);
  CHECK_EQUAL(0, worker.reasons.size());
}

TEST(MqttTls, AWrongAuthorityIsToldAndTheRightOneIsNoticed) {
  const House house;
  const Broker broker(house.WithTls());
  const apps::ScratchFolder folder;
  MqttSetting setting = house.Device(broker.port(), "w1");
  setting.ca_file = folder.Path("ca.crt");
  std::filesystem::copy_file(house.files.Certificate("other"), setting.ca_file);
  Peer worker(setting);
  CheckToldAndTrying(&worker, "another authority signed it");
  CHECK(worker.reasons[0].code() == StatusCode::kInvalidInput);

  std::filesystem::rename(house.files.Certificate("ca"), setting.ca_file);
  CHECK(worker.AwaitConnected());
}

TEST(MqttTls, AMissingCertificateIsTold) {
  const House house;
  const Broker broker(house.WithTls());
  MqttSetting setting = house.Device(broker.port(), "w1");
  setting.certificate_file = setting.key_file = "";
  Peer worker(setting);
  CheckToldAndTrying(&worker, "we show none");
}

TEST(MqttTls, ACertificateOfAnotherAuthorityIsTold) {
  const House house;
  const Broker broker(house.WithTls());
  Peer worker(house.Device(broker.port(), "stranger"));
  CheckToldAndTrying(&worker, "accept " + house.files.Certificate("stranger"));
}

TEST(MqttTls, ABrokerOfAnotherNameIsTold) {
  const House house;
  house.files.MakeServer("broker", "ca", "DNS:elsewhere");
  const Broker broker(house.WithTls());
  Peer worker(house.Device(broker.port(), "w1"));
  CheckToldAndTrying(&worker, "is for another name than 127.0.0.1");
}

TEST(MqttTls, TlsToAPlainPortAndPlainToATlsPortAreTold) {
  const House house;
  const Broker plain;
  Peer with(house.Device(plain.port(), "w1"));
  CheckToldAndTrying(&with, "does it speak TLS on this port");
  const Broker secure(house.WithTls());
  Peer without(Settings(secure.port(), "w1"));
  CheckToldAndTrying(&without, "does it expect TLS");
}

TEST(MqttTls, FilesThatAreMissingOrNotWhatTheyShouldBeAreToldByName) {
  const House house;
  const Broker broker(house.WithTls());
  MqttSetting setting = house.Device(broker.port(), "w1");
  setting.ca_file = "/nowhere/ca.crt";
  Peer no_ca(setting);
  CheckToldAndTrying(&no_ca, "/nowhere/ca.crt cannot be read");
  setting = house.Device(broker.port(), "w1");
  setting.key_file = house.files.Key("stranger");
  Peer wrong_key(setting);
  CheckToldAndTrying(&wrong_key, "is not the key of");
  setting = house.Device(broker.port(), "w1");
  setting.certificate_file = setting.key_file;
  Peer no_certificate(setting);
  CheckToldAndTrying(&no_certificate, "holds no certificate");
}

TEST(MqttTls, ABrokerThatIsKilledAndComesBackIsFoundAgain) {
  const House house;
  Broker broker(house.WithTls());
  Peer worker(house.Device(broker.port(), "w1"));
  CHECK(worker.AwaitConnected());
  broker.Kill9();
  CHECK(worker.Until([&] { return !worker.connected; }));
  broker.Restart();
  CHECK(worker.AwaitConnected());
}

}  // namespace weft::net
