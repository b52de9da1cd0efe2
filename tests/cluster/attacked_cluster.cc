// SPDX-License-Identifier: Apache-2.0
#include "tests/cluster/attacked_cluster.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "apps/enrolment/device_bundle.h"
#include "tests/places.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

void Insist(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

constexpr const char* kObserver = "observer";
// Where it also may speak, so that it can be seen to hear. $SYS takes nothing but these from
// anybody.
constexpr const char* kObserved[] = {"weft/other/mallory/ctl",
                                     "$SYS/broker/connection/mallory/state"};

}  // namespace

int64_t NowSeconds() { return static_cast<int64_t>(std::time(nullptr)); }

AttackedCluster& AttackedCluster::Get() {
  static AttackedCluster cluster(tests::GuardFile());
  return cluster;
}

AttackedCluster& AttackedCluster::Unguarded() {
  static AttackedCluster cluster("");
  return cluster;
}

AttackedCluster::AttackedCluster(const std::string& guard_file) {
  broker_ = std::make_unique<net::Broker>([&, this](int port) {
    const std::string folder = folder_.Path("cluster" + std::to_string(port));
    const Result<ClusterFolder> made = ClusterFolder::Init(
        folder,
        {.host = "127.0.0.1", .port = port, .job = "job", .workers = 3, .guard_file = guard_file},
        NowSeconds());
    Insist(made.ok(), made.status().message());
    LetObserverHear(folder);
    // The one line added: $SYS speaks every second, so that nobody waits long for it.
    return ReadAll(made->broker_config()) + "sys_interval 1\n";
  });
  // However long a test takes, they are missed after a minute and a half.
  server_ = Join(ps::kServerUser, {.keepalive_s = 60});
  victim_ = Join("victim", {.keepalive_s = 60});
  const RawTls observer =
      Files(kObserver, authority().IssueClient(kObserver, NowSeconds()).value());
  observer_ = std::make_unique<RawClient>(port(), &observer);
  Insist(observer_->Connect({.client_id = kObserver, .keepalive_s = 60}) == 0, "no observer");
  for (const char* lane : {"ctl", "push", "telemetry"}) {
    Insist(server_->Subscribe(std::string("weft/job/+/") + lane, 1) == 1, "no subscription");
  }
  Insist(server_->Subscribe("weft/job/servers", 1) == 1, "no subscription");
  Insist(victim_->Subscribe("weft/job/victim/pull", 1) == 1, "no subscription");
  for (const char* filter : {"weft/other/#", "$SYS/broker/connection/#", "$SYS/broker/mallory"}) {
    Insist(observer_->Subscribe(filter, 1) == 1, "no subscription");
  }
}

void AttackedCluster::LetObserverHear(const std::string& folder) {
  const std::string path = folder + "/broker/acl";
  std::string acl = ReadAll(path) + "\nuser " + kObserver + "\ntopic read $SYS/broker/mallory\n";
  for (const char* topic : kObserved) acl += std::string("topic readwrite ") + topic + "\n";
  WriteAll(path, acl);
}

void AttackedCluster::Reload() {
  LetObserverHear(folder());
  broker_->Reload();
}

RawTls AttackedCluster::Files(const std::string& name, const Identity& identity) const {
  const RawTls tls{.ca = folder() + "/ca/ca.crt",
                   .certificate = Path(name + ".crt"),
                   .key = Path(name + ".key")};
  WriteAll(tls.certificate, identity.certificate);
  WriteAll(tls.key, identity.key);
  return tls;
}

RawTls AttackedCluster::Device(const std::string& name) {
  if (name == ps::kServerUser) {
    return {.ca = folder() + "/ca/ca.crt",
            .certificate = folder() + "/server/ps.crt",
            .key = folder() + "/server/ps.key"};
  }
  const std::string archive_path = folder() + "/devices/" + name + "/" + name + ".tar";
  if (!std::filesystem::exists(archive_path)) {
    Result<ClusterFolder> cluster = ClusterFolder::Open(folder());
    Insist(cluster.ok() && cluster->Add(name, {}, NowSeconds()).ok(), "cannot enrol " + name);
  }
  const Result<DeviceBundle> bundle = UnpackBundle(ReadAll(archive_path));
  Insist(bundle.ok(), bundle.status().message());
  return Files(name, {.certificate = bundle->certificate, .key = bundle->key});
}

Authority AttackedCluster::authority() const {
  return Authority::Load({.certificate = ReadAll(folder() + "/ca/ca.crt"),
                          .key = ReadAll(folder() + "/ca/ca.key")})
      .value();
}

std::unique_ptr<RawClient> AttackedCluster::Join(const std::string& name,
                                                 const RawConnect& connect) {
  const RawTls tls = Device(name);
  auto client = std::make_unique<RawClient>(port(), &tls);
  RawConnect named = connect;
  if (named.client_id.empty()) named.client_id = name;
  const int reason = client->Connect(named);
  Insist(reason == 0, name + " is not let in: " + std::to_string(reason));
  return client;
}

std::string Joined(const std::vector<std::string>& topics) {
  std::string text;
  for (const std::string& topic : topics) text += topic + " ";
  return text;
}

void AttackedCluster::CheckNobodyHeard(RawClient& mallory) {
  // What it did before is behind it once the broker has passed this on.
  const std::string up = NewMarker();
  CHECK_EQUAL(0, mallory.Publish({.topic = "weft/job/mallory/ctl", .payload = up}));
  STRCMP_EQUAL("", Joined(server_->HearUntil(up)).c_str());
  for (const char* topic : kObserved) {
    const std::string beside = NewMarker();
    CHECK_EQUAL(0, observer_->Publish({.topic = topic, .payload = beside}));
    STRCMP_EQUAL("", Joined(observer_->HearUntil(beside)).c_str());
  }
  CheckUnharmed();
}

void AttackedCluster::CheckUnharmed() {
  const std::string down = NewMarker();
  CHECK_EQUAL(0, server_->Publish({.topic = "weft/job/victim/pull", .payload = down}));
  STRCMP_EQUAL("", Joined(victim_->HearUntil(down)).c_str());
  const std::string up = NewMarker();
  CHECK_EQUAL(0, victim_->Publish({.topic = "weft/job/victim/push", .payload = up}));
  STRCMP_EQUAL("", Joined(server_->HearUntil(up)).c_str());
}

void CheckPublishBlocked(const RawPublish& publish) {
  AttackedCluster& cluster = AttackedCluster::For(publish);
  const std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
  const int reason = mallory->Publish(publish);
  if (publish.qos > 0) CHECK_EQUAL(kNotAuthorised, reason);
  cluster.CheckNobodyHeard(*mallory);
}

void CheckWillBlocked(const RawConnect& connect, int reason) {
  AttackedCluster& cluster = AttackedCluster::For(connect);
  const RawTls tls = cluster.Device("mallory");
  RawClient dying(cluster.port(), &tls);
  CHECK_EQUAL(reason, dying.Connect(connect));
  dying.Vanish();
  // Its own name again: the broker then has done with the one that vanished.
  const std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
  cluster.CheckNobodyHeard(*mallory);
}

void CheckListenerHearsNothing(const std::string& filter, int qos, int version) {
  AttackedCluster& cluster = AttackedCluster::For({.version = version});
  const std::unique_ptr<RawClient> mallory = cluster.Join("mallory", {.version = version});
  // Mosquitto's access list lets a client ask for anything, and gives it what is its own.
  const int reason = mallory->Subscribe(filter, qos);
  CHECK(reason == qos || reason >= 128);
  CHECK_EQUAL(1, mallory->Subscribe("weft/job/mallory/pull", 1));
  cluster.CheckUnharmed();
  for (const char* lane : {"ctl", "telemetry"}) {
    const std::string marker = cluster.NewMarker();
    cluster.victim().Publish({.topic = std::string("weft/job/victim/") + lane, .payload = marker});
    cluster.server().HearUntil(marker);
  }
  const std::string end = cluster.NewMarker();
  cluster.server().Publish({.topic = "weft/job/mallory/pull", .payload = end});
  STRCMP_EQUAL("", Joined(mallory->HearUntil(end)).c_str());
}

void CheckNotLetIn(const RawTls& tls, int alert) {
  AttackedCluster& cluster = AttackedCluster::Get();
  RawClient mallory(cluster.port(), &tls);
  CHECK_EQUAL(-1, mallory.Connect({.client_id = "mallory"}));
  CHECK_FALSE(mallory.open());
  CHECK_EQUAL(alert, mallory.alert());
  cluster.CheckUnharmed();
}

}  // namespace weft::apps
