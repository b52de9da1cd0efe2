// SPDX-License-Identifier: Apache-2.0
// The folder of a cluster: its certificates before the openssl program as a judge from outside, its
// modes under the worst umask, two at once, and a kill at any moment.
#include "apps/enrolment/cluster_folder.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <thread>
#include <vector>

#include "apps/enrolment/device_bundle.h"
#include "apps/enrolment/private_files.h"
#include "tests/files/scratch_folder.h"
#include "tests/mqtt/program.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

namespace fs = std::filesystem;

int64_t Now() { return static_cast<int64_t>(std::time(nullptr)); }

ClusterSetting Setting(const std::string& host = "broker.example") {
  return {.host = host, .job = "job", .workers = 4};
}

ClusterFolder Made(const std::string& folder, const std::string& host = "broker.example") {
  return ClusterFolder::Init(folder, Setting(host), Now()).value();
}

Member::State StateOf(const std::string& folder, const std::string& device) {
  const ClusterFolder cluster = ClusterFolder::Open(folder).value();
  const std::vector<Member> members = cluster.Members(Now()).value();
  for (const Member& member : members) {
    if (member.name == device) return member.state;
  }
  FAIL("no such member");
  return {};
}

// Whether the openssl program says yes.
bool OpenSsl(std::vector<std::string> words) {
  words.insert(words.begin(), net::FindProgram("openssl"));
  return net::RunProgram(words);
}

bool Verified(const std::string& folder, const std::vector<std::string>& more) {
  std::vector<std::string> words = {
      "verify",   "-x509_strict",        "-CAfile",   folder + "/ca/ca.crt",
      "-CRLfile", folder + "/ca/ca.crl", "-crl_check"};
  words.insert(words.end(), more.begin(), more.end());
  return OpenSsl(words);
}

std::string CertificateOf(const std::string& folder, const std::string& device) {
  return folder + "/devices/" + device + "/device.crt";
}

}  // namespace

TEST_GROUP(Cluster) {
  const ScratchFolder scratch;
  const std::string folder = scratch.Path("cluster");
};

TEST(Cluster, OpensslAcceptsEachCertificateForItsPurposeOnly) {
  {
    ClusterFolder cluster = Made(folder);
    CHECK(cluster.Add("pi1", {}, Now()).ok());
  }
  const std::string device = CertificateOf(folder, "pi1");
  const std::string broker = folder + "/broker/broker.crt";
  const std::string server = folder + "/server/ps.crt";
  CHECK(Verified(folder, {"-purpose", "sslclient", device}));
  CHECK(Verified(folder, {"-purpose", "sslclient", server}));
  CHECK(Verified(folder, {"-purpose", "sslserver", "-verify_hostname", "broker.example", broker}));
  CHECK_FALSE(Verified(folder, {"-purpose", "sslserver", device}));
  CHECK_FALSE(Verified(folder, {"-purpose", "sslserver", server}));
  CHECK_FALSE(Verified(folder, {"-purpose", "sslclient", broker}));
  CHECK_FALSE(
      Verified(folder, {"-purpose", "sslserver", "-verify_hostname", "other.example", broker}));
  // A device is no authority, and signs nobody.
  CHECK_FALSE(OpenSsl({"verify", "-CAfile", device, "-partial_chain", server}));
  CHECK(OpenSsl({"crl", "-in", folder + "/ca/ca.crl", "-CAfile", folder + "/ca/ca.crt", "-noout"}));
}

TEST(Cluster, CertificatesAndTheListHoldForTenYears) {
  const ClusterFolder cluster = Made(folder);
  const std::string nine_years = std::to_string(Now() + int64_t{9} * 365 * 86'400);
  const std::string eleven_years = std::to_string(Now() + int64_t{11} * 365 * 86'400);
  const std::string server = folder + "/server/ps.crt";
  CHECK(Verified(folder, {"-attime", nine_years, server}));
  CHECK_FALSE(Verified(folder, {"-attime", eleven_years, server}));
  // Boards wake up with a clock that is late.
  CHECK(Verified(folder, {"-attime", std::to_string(Now() - 3'600), server}));
}

TEST(Cluster, ABrokerWithAnAddressIsKnownByIt) {
  for (const char* host : {"192.0.2.7", "2001:db8::7"}) {
    const std::string place = scratch.Path(host);
    const ClusterFolder cluster = Made(place, host);
    CHECK(Verified(place, {"-verify_ip", host, place + "/broker/broker.crt"}));
    CHECK_FALSE(Verified(place, {"-verify_ip", "192.0.2.8", place + "/broker/broker.crt"}));
  }
}

TEST(Cluster, TheBrokerIsGivenAGuardThatItsUserCanRead) {
  const std::string guard = scratch.Path("guard.so");
  CHECK(WritePrivate(guard, "machine code", std::nullopt).ok());
  ClusterSetting setting = Setting();
  setting.guard_file = guard;
  const std::string copy = folder + "/broker/weft_guard.so";
  const std::string line = "\nplugin " + copy + "\n";
  { CHECK(ClusterFolder::Init(folder, setting, Now()).ok()); }
  STRCMP_EQUAL("machine code", ReadAll(copy).c_str());
  STRCMP_CONTAINS(line.c_str(), ReadAll(folder + "/broker/mosquitto.conf").c_str());
  // Also when the configuration is made anew.
  fs::remove(folder + "/broker/mosquitto.conf");
  CHECK(ClusterFolder::Open(folder).ok());
  STRCMP_CONTAINS(line.c_str(), ReadAll(folder + "/broker/mosquitto.conf").c_str());
  // What everybody can read stays where it is.
  setting.guard_file = "/etc/passwd";
  const std::string other = scratch.Path("other");
  CHECK(ClusterFolder::Init(other, setting, Now()).ok());
  STRCMP_CONTAINS("\nplugin /etc/passwd\n", ReadAll(other + "/broker/mosquitto.conf").c_str());
}

TEST(Cluster, TheBundleHoldsTheDevicesIdentityAndConfiguration) {
  ClusterFolder cluster = Made(folder);
  const std::string path =
      cluster.Add("pi1", {.data = "mnist:/data/\"x\"", .share = "1/4"}, Now()).value();
  STRCMP_EQUAL((folder + "/devices/pi1/pi1.tar").c_str(), path.c_str());
  const DeviceBundle bundle = UnpackBundle(ReadAll(path)).value();
  STRCMP_EQUAL(ReadAll(CertificateOf(folder, "pi1")).c_str(), bundle.certificate.c_str());
  STRCMP_EQUAL(ReadAll(folder + "/ca/ca.crt").c_str(), bundle.authority.c_str());
  STRCMP_CONTAINS("BEGIN PRIVATE KEY", bundle.key.c_str());
  for (const char* line :
       {"broker = \"broker.example:8883\"\n", "worker = \"pi1\"\n", "job = \"job\"\n",
        "share = \"1/4\"\n", "data = \"mnist:/data/\\\"x\\\"\"\n",
        "key = \"/etc/weft/device.key\"\n"}) {
    STRCMP_CONTAINS(line, bundle.config.c_str());
  }
  const CertificateFacts facts = ReadCertificate(bundle.certificate, Now()).value();
  STRCMP_EQUAL("pi1", facts.name.c_str());
  // tar unpacks it, too.
  CHECK(net::RunProgram({net::FindProgram("tar"), "-C", scratch.path(), "-xf", path}));
  STRCMP_EQUAL(bundle.key.c_str(), ReadAll(scratch.Path("device.key")).c_str());
}

// As openssl reads its certificate; a device cannot be called that.
TEST(Cluster, EachOfSeveralServersHasACertificateAndAConfigurationOfItsOwn) {
  ClusterSetting setting = Setting();
  setting.shards = 2;
  setting.state = "/state";
  CHECK(ClusterFolder::Init(folder, setting, Now()).ok());
  ClusterFolder cluster = ClusterFolder::Open(folder).value();
  for (const std::string shard : {"0", "1"}) {
    const std::string stem = folder + "/server/ps" + shard;
    CHECK(Verified(folder, {"-purpose", "sslclient", stem + ".crt"}));
    const CertificateFacts facts = ReadCertificate(ReadAll(stem + ".crt"), Now()).value();
    STRCMP_EQUAL(("ps:" + shard).c_str(), facts.name.c_str());
    const std::string config = ReadAll(stem + ".toml");
    for (const std::string& line :
         {"shard = \"" + shard + "/2\"\n", "state = \"/state/ps" + shard + "\"\n",
          "cert = \"" + stem + ".crt\"\n", "key = \"" + stem + ".key\"\n"}) {
      STRCMP_CONTAINS(line.c_str(), config.c_str());
    }
    STRCMP_CONTAINS(("user ps:" + shard + "\n").c_str(), ReadAll(folder + "/broker/acl").c_str());
    CHECK_FALSE(cluster.Add("ps:" + shard, {}, Now()).ok());
  }
  CHECK(ReadAll(folder + "/server/ps0.key") != ReadAll(folder + "/server/ps1.key"));
  CHECK_FALSE(fs::exists(folder + "/server/ps.crt"));
  CHECK_FALSE(cluster.Add("ps", {}, Now()).ok());
  const std::string path = cluster.Add("ps0", {}, Now()).value();
  STRCMP_CONTAINS("\nshards = 2\n", UnpackBundle(ReadAll(path))->config.c_str());
  const std::vector<Member> members = cluster.Members(Now()).value();
  STRCMP_EQUAL("ps:0", members[2].name.c_str());
  STRCMP_EQUAL("ps:1", members[3].name.c_str());
  STRCMP_EQUAL("server", members[3].role.c_str());
}

TEST(Cluster, OneServerSavesWhatItTrainedAndOfSeveralADeviceMay) {
  { const ClusterFolder cluster = Made(folder); }
  STRCMP_CONTAINS("\nsave = \"/var/lib/weft/ps/job.safetensors\"\n",
                  ReadAll(folder + "/server/ps.toml").c_str());
  const auto device_text = [](const std::string& place) {
    const std::string path = ClusterFolder::Open(place)->Add("pi1", {}, Now()).value();
    return UnpackBundle(ReadAll(path))->config;
  };
  CHECK(device_text(folder).find("save") == std::string::npos);
  ClusterSetting setting = Setting();
  setting.shards = 2;
  const std::string several = scratch.Path("several");
  CHECK(ClusterFolder::Init(several, setting, Now()).ok());
  CHECK(ReadAll(several + "/server/ps0.toml").find("save") == std::string::npos);
  STRCMP_CONTAINS("\n# save = \"/var/lib/weft/edge/job.safetensors\"\n",
                  device_text(several).c_str());
}

TEST(Cluster, OneFromBeforeThereCouldBeSeveralServersIsReadOn) {
  { const ClusterFolder cluster = Made(folder); }
  std::string text = ReadAll(folder + "/cluster.toml");
  const std::string line = "shards = 1\n";
  text.erase(text.find(line), line.size());
  WriteAll(folder + "/cluster.toml", text);
  CHECK_EQUAL(1, ClusterFolder::Open(folder)->setting().shards);
}

TEST(Cluster, NothingIsReadableByOthersUnderAnyUmask) {
  const mode_t before = umask(0);
  {
    ClusterFolder cluster = Made(scratch.Path("new/parent/cluster"));
    CHECK(cluster.Add("pi1", {}, Now()).ok());
    CHECK(cluster.Add("pi2", {}, Now()).ok());
    CHECK(cluster.Revoke("pi2", Now()).ok());
    CHECK(InstallBundle(UnpackBundle(ReadAll(cluster.path() + "/devices/pi1/pi1.tar")).value(),
                        scratch.Path("new/device"), "nobody-of-this-name")
              .ok());
  }
  umask(before);
  int files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(scratch.Path("new"))) {
    struct stat facts {};
    CHECK_EQUAL(0, stat(entry.path().c_str(), &facts));
    const mode_t mode = facts.st_mode & 07777;
    const std::string name = entry.path().filename();
    if (S_ISREG(facts.st_mode)) {
      ++files;
      CHECK_EQUAL_TEXT(0600, mode, entry.path().c_str());
    } else if (name == "parent") {
      CHECK_EQUAL_TEXT(0755, mode, entry.path().c_str());
    } else {
      // Through the cluster's folder others come to what is theirs.
      CHECK_EQUAL_TEXT(name == "cluster" ? 0711 : 0700, mode, entry.path().c_str());
    }
  }
  CHECK(files > 15);
}

TEST(Cluster, ARevokedDeviceIsListedOnceInTheListAndItsBundleIsGone) {
  {
    ClusterFolder cluster = Made(folder);
    for (const char* name : {"pi1", "pi2", "pi3"}) CHECK(cluster.Add(name, {}, Now()).ok());
    CHECK(cluster.Revoke("pi2", Now()).ok());
    CHECK(cluster.Revoke("pi3", Now()).ok());
    CHECK_FALSE(cluster.Revoke("pi2", Now()).ok());
  }
  CHECK(StateOf(folder, "pi1") == Member::State::kActive);
  CHECK(StateOf(folder, "pi2") == Member::State::kRevoked);
  CHECK(Verified(folder, {CertificateOf(folder, "pi1")}));
  CHECK_FALSE(Verified(folder, {CertificateOf(folder, "pi2")}));
  CHECK_FALSE(Verified(folder, {CertificateOf(folder, "pi3")}));
  CHECK_EQUAL(2, ReadRevoked(ReadAll(folder + "/broker/ca.crl")).value().size());
  STRCMP_CONTAINS("user pi2\ntopic deny #\n", ReadAll(folder + "/broker/acl").c_str());
  CHECK_FALSE(fs::exists(folder + "/devices/pi2/pi2.tar"));
  CHECK(fs::exists(folder + "/devices/pi1/pi1.tar"));
}

TEST(Cluster, ARevokedDeviceCanBeEnrolledAnewUnderItsName) {
  const std::string old = [&] {
    ClusterFolder cluster = Made(folder);
    CHECK(cluster.Add("pi1", {}, Now()).ok());
    std::string certificate = ReadAll(CertificateOf(folder, "pi1"));
    CHECK_FALSE(cluster.Add("pi1", {}, Now()).ok());
    CHECK(cluster.Revoke("pi1", Now()).ok());
    CHECK(cluster.Add("pi1", {}, Now()).ok());
    return certificate;
  }();
  CHECK(StateOf(folder, "pi1") == Member::State::kActive);
  CHECK(Verified(folder, {CertificateOf(folder, "pi1")}));
  WriteAll(scratch.Path("old.crt"), old);
  CHECK_FALSE(Verified(folder, {scratch.Path("old.crt")}));
  CHECK(ReadAll(folder + "/broker/acl").find("pi1") == std::string::npos);
  CHECK_FALSE(fs::exists(folder + "/devices/.pi1"));
}

TEST(Cluster, AnExpiredDeviceIsListedAsSuchAndCanBeEnrolledAnew) {
  ClusterFolder cluster = Made(folder);
  CHECK(cluster.Add("pi1", {}, Now()).ok());
  const int64_t later = Now() + int64_t{11} * 365 * 86'400;
  CHECK(cluster.Members(later)->back().state == Member::State::kExpired);
  CHECK(cluster.Add("pi1", {}, later).ok());
  CHECK(cluster.Members(later)->back().state == Member::State::kActive);
}

TEST(Cluster, ABrokerIsKnownByAnotherNameTooAndWhatWasEnrolledStays) {
  {
    ClusterFolder cluster = Made(folder);
    CHECK(cluster.Add("pi1", {}, Now()).ok());
    CHECK(cluster.Add("pi2", {}, Now()).ok());
    CHECK(cluster.Revoke("pi2", Now()).ok());
  }
  const std::string authority = ReadAll(folder + "/ca/ca.crt");
  {
    ClusterFolder cluster = ClusterFolder::Open(folder).value();
    CHECK(cluster.Renew("new.example", Now()).ok());
    CHECK(cluster.Renew("2001:db8::7", Now()).ok());
    CHECK(cluster.Renew("new.example", Now()).ok());
  }
  STRCMP_EQUAL(authority.c_str(), ReadAll(folder + "/ca/ca.crt").c_str());
  const std::string broker = folder + "/broker/broker.crt";
  for (const char* host : {"new.example", "broker.example"}) {
    CHECK(Verified(folder, {"-purpose", "sslserver", "-verify_hostname", host, broker}));
  }
  CHECK(Verified(folder, {"-verify_ip", "2001:db8::7", broker}));
  CHECK_FALSE(Verified(folder, {"-verify_hostname", "other.example", broker}));
  CHECK_EQUAL(3, ReadCertificate(ReadAll(broker), Now())->hosts.size());
  CHECK(Verified(folder, {"-purpose", "sslclient", folder + "/server/ps.crt"}));
  CHECK(StateOf(folder, "pi1") == Member::State::kActive);
  CHECK(StateOf(folder, "pi2") == Member::State::kRevoked);
  const std::string bundle = ClusterFolder::Open(folder)->Add("pi3", {}, Now()).value();
  STRCMP_CONTAINS("broker = \"new.example:8883\"\n", UnpackBundle(ReadAll(bundle))->config.c_str());
}

// The list of revoked ones is renewed with them: a broker refuses everybody once it is too old.
TEST(Cluster, RenewedInTimeTheBrokerAndTheServersHoldForAnotherTenYears) {
  ClusterSetting setting = Setting();
  setting.shards = 2;
  const int64_t made = Now();
  CHECK(ClusterFolder::Init(folder, setting, made).ok());
  ClusterFolder cluster = ClusterFolder::Open(folder).value();
  const int64_t nine_years_on = made + int64_t{9} * 365 * 86'400;
  CHECK_EQUAL(365, cluster.Members(nine_years_on)->at(1).facts.days_left);
  CHECK(cluster.Renew("", nine_years_on).ok());
  const std::string later = std::to_string(made + int64_t{12} * 365 * 86'400);
  for (const char* path : {"/broker/broker.crt", "/server/ps0.crt", "/server/ps1.crt"}) {
    CHECK(Verified(folder, {"-attime", later, folder + path}));
  }
  STRCMP_EQUAL(ReadAll(folder + "/ca/ca.crl").c_str(), ReadAll(folder + "/broker/ca.crl").c_str());
}

TEST(Cluster, ManyAtOnceWaitForEachOther) {
  { const ClusterFolder cluster = Made(folder); }
  std::vector<std::thread> threads;
  std::vector<int> added(8, 0);
  for (size_t i = 0; i < added.size(); ++i) {
    threads.emplace_back([this, i, &added] {
      Result<ClusterFolder> cluster = ClusterFolder::Open(folder);
      if (cluster.ok() && cluster->Add("pi" + std::to_string(i), {}, Now()).ok()) added[i] = 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int good : added) CHECK_EQUAL(1, good);
  CHECK_EQUAL(3 + 8, ClusterFolder::Open(folder)->Members(Now())->size());
}

TEST(Cluster, OneIsMadeIfManyTryAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> made(6, 0);
  for (size_t i = 0; i < made.size(); ++i) {
    threads.emplace_back([this, i, &made] {
      if (ClusterFolder::Init(folder, Setting(), Now()).ok()) made[i] = 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  int all = 0;
  for (const int one : made) all += one;
  CHECK_EQUAL(1, all);
  CHECK(Verified(folder, {folder + "/server/ps.crt"}));
}

TEST(Cluster, KilledAtAnyMomentItCanBeUsedOn) {
  // A child enrols, revokes and enrols again for ever; what it leaves is whole.
  { const ClusterFolder cluster = Made(folder); }
  for (int round = 0; round < 15; ++round) {
    int ends[2];
    CHECK_EQUAL(0, pipe2(ends, O_CLOEXEC));
    const pid_t child = fork();
    if (child == 0) {
      Result<ClusterFolder> cluster = ClusterFolder::Open(folder);
      while (cluster.ok()) {
        if (!cluster->Add("pi1", {}, Now()).ok() && !cluster->Revoke("pi1", Now()).ok()) break;
      }
      _exit(1);
    }
    close(ends[1]);
    // It ends by itself only if something is wrong; otherwise within one of its changes, each time
    // a little later.
    pollfd ended{.fd = ends[0], .events = POLLIN, .revents = 0};
    CHECK_EQUAL(0, poll(&ended, 1, 3 + 2 * round));
    close(ends[0]);
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    ClusterFolder cluster = ClusterFolder::Open(folder).value();
    const std::vector<Member> members = cluster.Members(Now()).value();
    const bool active =
        members.back().name == "pi1" && members.back().state == Member::State::kActive;
    CHECK_EQUAL(active, cluster.Revoke("pi1", Now()).ok());
    CHECK(cluster.Add("pi1", {}, Now()).ok());
    CHECK(Verified(folder, {CertificateOf(folder, "pi1")}));
    STRCMP_EQUAL(ReadAll(folder + "/ca/ca.crl").c_str(),
                 ReadAll(folder + "/broker/ca.crl").c_str());
  }
}

TEST(Cluster, KilledAtAnyMomentWhileBeingMadeItIsThereOrCanBeMadeAgain) {
  int there = 0;
  int half = 0;
  for (int round = 0; round < 20; ++round) {
    const std::string place = scratch.Path("try" + std::to_string(round));
    int ends[2];
    CHECK_EQUAL(0, pipe2(ends, O_CLOEXEC));
    const pid_t child = fork();
    if (child == 0) _exit(ClusterFolder::Init(place, Setting(), Now()).ok() ? 0 : 1);
    close(ends[1]);
    // Killed a little later each time; the last are given the time they need.
    pollfd ended{.fd = ends[0], .events = POLLIN, .revents = 0};
    const timespec later{.tv_sec = round < 18 ? 0 : 10, .tv_nsec = 150'000L * round * round};
    ppoll(&ended, 1, &later, nullptr);
    close(ends[0]);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    if (ClusterFolder::IsThere(place)) {
      ++there;
      CHECK(ClusterFolder::Open(place)->Add("pi1", {}, Now()).ok());
    } else {
      half += fs::exists(place + "/ca") ? 1 : 0;
      const ClusterFolder cluster = Made(place);
    }
    CHECK(Verified(place, {place + "/server/ps.crt"}));
    CHECK_FALSE(fs::exists(place + "/.being-made"));
  }
  CHECK(there > 0);
  CHECK(half > 0);
}

TEST(Cluster, WhatAKilledInitLeftIsMadeAgain) {
  { const ClusterFolder cluster = Made(folder); }
  WriteAll(folder + "/.being-made", "");
  fs::remove(folder + "/cluster.toml");  // it is written last
  fs::remove(folder + "/server/ps.key");
  const Result<ClusterFolder> half = ClusterFolder::Open(folder);
  STRCMP_CONTAINS("run it again", half.status().message().c_str());
  { const ClusterFolder cluster = Made(folder); }
  CHECK(Verified(folder, {folder + "/server/ps.crt"}));
}

// As after a backup that is brought back in part: what is left is all there is of the authority.
TEST(Cluster, AnAuthorityWhoseClusterTomlIsLostIsNotTouched) {
  {
    ClusterFolder cluster = Made(folder);
    CHECK(cluster.Add("pi1", {}, Now()).ok());
  }
  const std::string text = ReadAll(folder + "/cluster.toml");
  const std::string key = ReadAll(folder + "/ca/ca.key");
  fs::remove(folder + "/cluster.toml");
  const Status listed = ClusterFolder::Open(folder).status();
  STRCMP_CONTAINS("bring that file back", listed.message().c_str());
  CHECK(listed.message().find("cluster init") == std::string::npos);
  const Result<ClusterFolder> again = ClusterFolder::Init(folder, Setting(), Now());
  STRCMP_CONTAINS("nothing in it was touched", again.status().message().c_str());
  WriteAll(folder + "/cluster.toml", text);
  CHECK(StateOf(folder, "pi1") == Member::State::kActive);
  STRCMP_EQUAL(key.c_str(), ReadAll(folder + "/ca/ca.key").c_str());
}

TEST(Cluster, SomebodysOwnCaAndServerFoldersAreNotTouched) {
  for (const char* own : {"ca", "server"}) {
    fs::create_directories(folder + "/" + own);
    WriteAll(folder + "/" + own + "/mine.key", "mine");
  }
  const Result<ClusterFolder> made = ClusterFolder::Init(folder, Setting(), Now());
  CHECK_FALSE(made.ok());
  STRCMP_CONTAINS("nothing in it was touched", made.status().message().c_str());
  for (const char* own : {"ca", "server"}) {
    STRCMP_EQUAL("mine", ReadAll(folder + "/" + own + "/mine.key").c_str());
  }
  CHECK_FALSE(fs::exists(folder + "/lock"));
}

}  // namespace weft::apps
