// SPDX-License-Identifier: Apache-2.0
// `weft cluster` as it is typed, and what it answers to mistakes.
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/enrolment/cluster_folder.h"
#include "tests/apps/typed.h"
#include "tests/files/scratch_folder.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

// One line on stderr that has these words.
void CheckRefused(const std::vector<std::string>& arguments, const std::string& words) {
  const Typed typed = Type(arguments);
  CHECK(IsOneLineRefusal(typed));
  STRCMP_CONTAINS(words.c_str(), typed.err.c_str());
}

}  // namespace

TEST_GROUP(ClusterCommand) {
  const ScratchFolder scratch;
  const std::string folder = scratch.Path("c");

  Typed Init(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"cluster", "init", folder, "--host", "broker.example"};
    words.insert(words.end(), more.begin(), more.end());
    return Type(words);
  }
};

TEST(ClusterCommand, TheFourCommandsSayWhatComesNext) {
  const Typed init = Init({"--workers", "2"});
  CHECK_EQUAL(0, init.exit_code);
  STRCMP_CONTAINS("systemctl restart mosquitto", init.out.c_str());
  STRCMP_CONTAINS(("weft-ps serve --config " + folder + "/server/ps.toml").c_str(),
                  init.out.c_str());
  const Typed add = Type({"cluster", "add", "pi1", "--dir", folder});
  CHECK_EQUAL(0, add.exit_code);
  STRCMP_CONTAINS((folder + "/devices/pi1/pi1.tar").c_str(), add.out.c_str());
  STRCMP_CONTAINS("weft-edge enrol pi1.tar", add.out.c_str());
  const Typed revoke = Type({"cluster", "revoke", "pi1", "--dir", folder});
  CHECK_EQUAL(0, revoke.exit_code);
  STRCMP_CONTAINS("systemctl reload mosquitto", revoke.out.c_str());
  const Typed list = Type({"cluster", "list", "--dir", folder});
  CHECK_EQUAL(0, list.exit_code);
  STRCMP_CONTAINS("revoked", list.out.c_str());
}

TEST(ClusterCommand, SeveralServersAreNamedAndListedOneByOne) {
  const Typed init = Init({"--shards", "2"});
  CHECK_EQUAL(0, init.exit_code);
  const Typed list = Type({"cluster", "list", "--dir", folder});
  for (const std::string shard : {"0", "1"}) {
    STRCMP_CONTAINS(
        ("server:  weft-ps serve --config " + folder + "/server/ps" + shard + ".toml\n").c_str(),
        init.out.c_str());
    STRCMP_CONTAINS(("ps:" + shard).c_str(), list.out.c_str());
  }
}

TEST(ClusterCommand, ListsEverybodyForPrograms) {
  Init();
  Type({"cluster", "add", "pi1", "--dir", folder});
  const Typed list = Type({"cluster", "list", "--dir", folder, "--json"});
  const nlohmann::json object = nlohmann::json::parse(list.out);
  STRCMP_EQUAL("broker.example", object.at("host").get<std::string>().c_str());
  const nlohmann::json device = object.at("members").back();
  STRCMP_EQUAL("pi1", device.at("name").get<std::string>().c_str());
  STRCMP_EQUAL("device", device.at("role").get<std::string>().c_str());
  STRCMP_EQUAL("active", device.at("state").get<std::string>().c_str());
  CHECK_EQUAL(64, device.at("fingerprint").get<std::string>().size());
  CHECK_EQUAL(20, device.at("expires").get<std::string>().size());
}

TEST(ClusterCommand, ABrokersOtherNameSaysWhoMustBeTold) {
  Init();
  Type({"cluster", "add", "pi1", "--dir", folder});
  Typed renew = Type({"cluster", "renew", "--dir", folder});
  CHECK_EQUAL(0, renew.exit_code);
  STRCMP_CONTAINS("the broker's for broker.example\n", renew.out.c_str());
  STRCMP_CONTAINS("systemctl reload mosquitto", renew.out.c_str());
  CHECK(renew.out.find("pi1") == std::string::npos);
  CHECK(renew.out.find("listener") == std::string::npos);
  renew = Type({"cluster", "renew", "--host", "new.example", "--dir", folder});
  STRCMP_CONTAINS("for new.example, broker.example\n", renew.out.c_str());
  STRCMP_CONTAINS("those there are (pi1)", renew.out.c_str());
  CheckRefused({"cluster", "renew", "--host", "a b", "--dir", folder}, "'a b' is neither");
  const Typed json = Type({"cluster", "renew", "--host", "localhost", "--dir", folder, "--json"});
  const nlohmann::json object = nlohmann::json::parse(json.out);
  STRCMP_EQUAL("localhost", object.at("host").get<std::string>().c_str());
  CHECK_EQUAL(3, object.at("hosts").size());
  // mosquitto.conf is its owner's: it is told what to change there.
  STRCMP_EQUAL("listener 8883 localhost", object.at("missing_listener").get<std::string>().c_str());
}

TEST(ClusterCommand, WhatEndsSoonIsListedWithWhatToDo) {
  // Half a day off, so that it does not matter how long this takes.
  const auto day = [](int64_t days) { return std::time(nullptr) + days * 86'400 - 43'200; };
  {
    const ClusterSetting setting{.host = "broker.example", .workers = 4};
    ClusterFolder cluster = ClusterFolder::Init(folder, setting, day(-3'620)).value();
    CHECK(cluster.Add("pi1", {}, day(-3'600)).ok());
    CHECK(cluster.Add("pi2", {}, day(-3'500)).ok());
    CHECK(cluster.Add("pi3", {}, day(-3'660)).ok());
    CHECK(cluster.Add("pi4", {}, day(-3'640)).ok());
    CHECK(cluster.Revoke("pi4", day(-3'630)).ok());
  }
  const std::string list = Type({"cluster", "list", "--dir", folder}).out;
  for (const char* line : {"\nbroker expires in 29 days: `weft cluster renew` makes another\n",
                           "\nps expires in 29 days: `weft cluster renew` makes another\n",
                           "\npi1 expires in 49 days: `weft cluster revoke pi1`, then `weft "
                           "cluster add pi1` makes another\n",
                           "\npi3 is expired: `weft cluster add pi3` makes another\n"}) {
    STRCMP_CONTAINS(line, list.c_str());
  }
  for (const char* not_there : {"\npi2 expires", "\npi4 expires", "\nca expires"}) {
    CHECK(list.find(not_there) == std::string::npos);
  }
  CHECK_EQUAL(0, Type({"cluster", "renew", "--dir", folder}).exit_code);
  const std::string renewed = Type({"cluster", "list", "--dir", folder}).out;
  CHECK(renewed.find("renew") == std::string::npos);
}

TEST(ClusterCommand, MoreDevicesThanWorkersAreWarnedOf) {
  Init({"--workers", "1"});
  STRCMP_EQUAL("", Type({"cluster", "add", "pi1", "--dir", folder}).err.c_str());
  STRCMP_CONTAINS("2 devices", Type({"cluster", "add", "pi2", "--dir", folder}).err.c_str());
}

TEST(ClusterCommand, MistakesAreAnsweredInASentence) {
  CheckRefused({"cluster"}, "subcommand");
  CheckRefused({"cluster", "init", folder}, "--host");
  CheckRefused({"cluster", "init", folder, "--host", "a b"}, "'a b' is neither");
  CheckRefused({"cluster", "init", folder, "--host", "a,DNS:b"}, "is neither");
  CheckRefused({"cluster", "init", folder, "--host", "h", "--job", "a/b"}, "'a/b' is no name");
  CheckRefused({"cluster", "init", folder, "--host", "h", "--model", "lenet6"}, "lenet6");
  CheckRefused({"cluster", "init", folder, "--host", "h", "--segment", "much"}, "--segment");
  CheckRefused({"cluster", "init", folder, "--host", "h", "--shards", "0"}, "--shards");
  CheckRefused({"cluster", "init", folder, "--host", "h", "--shards", "6"}, "has 5 units");
  CheckRefused({"cluster", "init", folder, "--host", "h", "--port", "70000"}, "--port");
  CHECK_FALSE(std::filesystem::exists(folder));
  CheckRefused({"cluster", "add", "pi1", "--dir", folder}, "there is no cluster in " + folder);
  CheckRefused({"cluster", "list", "--dir", folder}, "weft cluster init");
  WriteAll(scratch.Path("something"), "mine");
  CheckRefused({"cluster", "init", scratch.path(), "--host", "h"}, "is not empty");
  CHECK_EQUAL(0, Init().exit_code);
  CheckRefused({"cluster", "init", folder, "--host", "h"}, "is not empty");
  CheckRefused({"cluster", "add", "../pi1", "--dir", folder}, "is no name for a device");
  CheckRefused({"cluster", "add", ".pi1", "--dir", folder}, "is no name for a device");
  CheckRefused({"cluster", "add", std::string(65, 'x'), "--dir", folder}, "1 to 64 letters");
  CheckRefused({"cluster", "add", "ps", "--dir", folder}, "the server's own name");
  CheckRefused({"cluster", "revoke", "pi1", "--dir", folder}, "no device 'pi1' is enrolled");
  CheckRefused({"cluster", "revoke", "../ca", "--dir", folder}, "is enrolled");
  Type({"cluster", "add", "pi1", "--dir", folder});
  CheckRefused({"cluster", "add", "pi1", "--dir", folder}, "is enrolled already");
  Type({"cluster", "revoke", "pi1", "--dir", folder});
  CheckRefused({"cluster", "revoke", "pi1", "--dir", folder}, "is revoked already");
}

TEST(ClusterCommand, AFolderThatIsDamagedIsToldOf) {
  Init();
  const std::string crl = ReadAll(folder + "/ca/ca.crl");
  WriteAll(folder + "/ca/ca.crl", "nonsense");
  CheckRefused({"cluster", "list", "--dir", folder}, "ca.crl: no list of revoked");
  WriteAll(folder + "/ca/ca.crl", crl);
  WriteAll(folder + "/ca/ca.key", "nonsense");
  CheckRefused({"cluster", "add", "pi1", "--dir", folder}, "an authority's certificate");
  WriteAll(folder + "/cluster.toml", "host = 5");
  CheckRefused({"cluster", "list", "--dir", folder}, "cluster.toml");
}

}  // namespace weft::apps
