// SPDX-License-Identifier: Apache-2.0
// The doctor sees what the installed service will see, not what root does: as the unit's user, here
// "nobody", and from behind the unit's walls. Where the tests are not root's, only the walls.
#include <sys/stat.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <sstream>

#include "apps/doctor/device_checks.h"
#include "apps/doctor/own_files.h"
#include "apps/doctor/service_view.h"
#include "apps/terminal/command_line.h"
#include "apps/weft_edge/doctor_command.h"
#include "apps/weft_ps/doctor_command.h"
#include "core/model/zoo.h"
#include "tests/doctor/doctor_house.h"
#include "tests/places.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

constexpr const char* kUnitFile = "/lib/systemd/system/weft-edge.service";

// The unit as the package installs it.
std::string PackagedUnit(const std::string& name) {
  const std::string packages = tests::BoardsFolder() + "/packages/";
  std::string unit = ReadAll(packages + name + ".service.in");
  const std::string mark = "@SANDBOX@";
  unit.replace(unit.find(mark), mark.size(), ReadAll(packages + "sandbox.conf"));
  return unit;
}

}  // namespace

TEST_GROUP(DoctorService) {
  DoctorHouse house;
  const std::string root = house.Path("root");

  // The folder and those above it can be entered by all.
  void setup() override { chmod(house.Path(".").c_str(), 0755); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    WriteAll(path, text);
  }

  // A service of nobody's that may write below `writable`.
  void Install(const std::string& more = "") {
    Write(root + kUnitFile,
          "[Unit]\nUser=wrong\n[Service]\nUser=nobody\nProtectSystem=strict\nProtectHome=yes\n"
          "WorkingDirectory=" +
              house.Path("work") + "\n" + more);
  }

  Diagnosis Ask(const std::string& config, const std::vector<std::string>& more = {}) {
    Write(house.Path("edge.toml"), config);
    return AskInstalled(more);
  }
  Diagnosis AskInstalled(const std::vector<std::string>& more = {}) {
    std::vector<std::string> typed = {"doctor", "--json"};
    typed.insert(typed.end(), more.begin(), more.end());
    const DoctorArguments arguments = ReadDoctorArguments(
        typed, {.file = house.Path("edge.toml"), .unit = "weft-edge.service", .root = root});
    return Run(AddDoctorCommand, arguments);
  }
  Diagnosis AskServer(const std::string& config) {
    Write(house.Path("ps.toml"), config);
    const DoctorArguments arguments = ReadDoctorArguments(
        {"doctor", "--json"},
        {.file = house.Path("ps.toml"), .unit = "weft-edge.service", .root = root});
    return Run(AddServerDoctorCommand, arguments);
  }
  template <typename Add>
  Diagnosis Run(const Add& add, const DoctorArguments& arguments) {
    CLI::App app("weft", "weft");
    const std::vector<Command> commands = {add(app, arguments)};
    std::ostringstream out;
    Diagnosis said;
    std::ostringstream err;
    said.exit_code = RunCommandLine(app, commands, arguments.flags, out, err, Terminal{});
    said.err = err.str();
    const auto object = nlohmann::json::parse(out.str(), nullptr, false);
    CHECK_TRUE_TEXT(object.is_object(), err.str().c_str());
    said.checks = object["checks"];
    return said;
  }

  // Alone, on a set that anybody could read unless a test changes that.
  std::string Alone(const std::string& data) {
    return "local = true\nmodel = \"lenet5\"\nbackend = \"ref\"\nthreads = 1\ndata = \"" + data +
           "\"\n";
  }
  std::string Digits(const std::string& folder) {
    std::string images = {0, 0, 8, 3, 0, 0, 0, 10, 0, 0, 0, 28, 0, 0, 0, 28};
    std::string labels = {0, 0, 8, 1, 0, 0, 0, 10};
    images.resize(images.size() + 10 * 28 * 28, 'x');
    for (int i = 0; i < 10; ++i) labels += static_cast<char>(i);
    Write(house.Path(folder) + "/train-images-idx3-ubyte", images);
    Write(house.Path(folder) + "/train-labels-idx1-ubyte", labels);
    return "mnist:" + house.Path(folder);
  }
};

TEST(DoctorService, ThePackagedUnitsAreReadAsTheyAreMeant) {
  Write(root + kUnitFile, PackagedUnit("weft-edge"));
  std::optional<ServiceUnit> unit = InstalledUnit("weft-edge.service", root);
  CHECK_TRUE(unit.has_value());
  STRCMP_EQUAL("weft-edge", unit->user.c_str());
  STRCMP_EQUAL("/var/lib/weft/edge", unit->working_folder.c_str());
  CHECK_TRUE(unit->made ==
             (std::vector<std::string>{"/var/lib/weft/edge", "/var/cache/weft-edge"}));
  CHECK_TRUE(unit->home_hidden && unit->own_tmp && unit->read_only);
  LONGS_EQUAL(85, unit->memory_percent);
  Write(root + "/lib/systemd/system/weft-ps.service", PackagedUnit("weft-ps"));
  unit = InstalledUnit("weft-ps.service", root);
  STRCMP_EQUAL("weft-ps", unit->user.c_str());
  CHECK_TRUE(unit->made == std::vector<std::string>{"/var/lib/weft/ps"});
  CHECK_FALSE(InstalledUnit("weft.service", root).has_value());
}

TEST(DoctorService, WhatAnAdministratorChangedCounts) {
  Install("StateDirectory=weft/edge\nMemoryMax=85%\n");
  Write(root + "/etc/systemd/system/weft-edge.service.d/override.conf",
        "[Service]\nUser=daemon\nReadWritePaths=-/data /more\nMemoryMax=infinity\n"
        "StateDirectory=\nStateDirectory=other\nBindReadOnlyPaths=/home/pi/a:/home/pi/b\n");
  ServiceUnit unit = *InstalledUnit("weft-edge.service", root);
  STRCMP_EQUAL("daemon", unit.user.c_str());
  CHECK_TRUE(unit.writable == (std::vector<std::string>{"/data", "/more"}));
  CHECK_TRUE(unit.made == std::vector<std::string>{"/var/lib/other"});
  CHECK_TRUE(unit.shown == std::vector<std::string>{"/home/pi/b"});
  LONGS_EQUAL(0, unit.memory_percent);
  Write(root + "/etc/systemd/system/weft-edge.service", "[Service]\nUser=own\n");
  Write(root + "/etc/systemd/system/weft-edge.service.d/override.conf", "");
  STRCMP_EQUAL("own", InstalledUnit("weft-edge.service", root)->user.c_str());
}

TEST(DoctorService, WhereTheServiceCanDoItsWorkNothingIsWrong) {
  Install("ReadWritePaths=" + house.Path("work") + "\n");
  std::filesystem::create_directories(house.Path("work"));
  CHECK_EQUAL(0, chmod(house.Path("work").c_str(), 0777));
  const std::string data = Digits("open");
  const Diagnosis said = Ask(Alone(data) + "save = \"lenet5.safetensors\"\ncheckpoint = \"" +
                             house.Path("work/kept") + "\"\n");
  STRCMP_EQUAL("", said.Failed().c_str());
  STRCMP_EQUAL("ok", said.State("disk").c_str());
  CHECK_EQUAL(0, said.exit_code);
}

TEST(DoctorService, DataInAHomeAreNotSeen) {
  Install("StateDirectory=weft/edge\n");
  const Diagnosis said = Ask(Alone("mnist:/home/pi/mnist"));
  STRCMP_EQUAL("data", said.Failed().c_str());
  STRCMP_CONTAINS("does not see /home/pi/mnist, nor anything below /home (ProtectHome)",
                  said.Detail("data").c_str());
  STRCMP_EQUAL("move it below /var/lib/weft/edge", said.Fix("data").c_str());
}

TEST(DoctorService, ALinkIntoAHomeIsNoWayAround) {
  Install();
  std::filesystem::create_symlink("/root", house.Path("data"));
  STRCMP_CONTAINS("ProtectHome", Ask(Alone("mnist:" + house.Path("data"))).Detail("data").c_str());
}

TEST(DoctorService, WhatIsInTmpIsNotInTheServices) {
  const ServiceView view(ServiceUnit{.name = "weft-edge.service", .own_tmp = true});
  const auto look = [&](const std::string& place) {
    return view.Look({place}, ServiceView::Use::kWrite, [] { return Good("fine"); });
  };
  CHECK(look("/tmp/model.safetensors").state == CheckState::kFails);
  STRCMP_CONTAINS("(PrivateTmp)", look("/var/tmp/model.safetensors").detail.c_str());
  CHECK(look("/tmpfs").state == CheckState::kOk);
}

TEST(DoctorService, AModelIsNotSavedWhereTheServiceMayNotWrite) {
  Install("StateDirectory=weft/edge\n");
  const std::string save = "save = \"/srv/models/lenet5.safetensors\"\n";
  const Diagnosis said = Ask(Alone("synthetic:1x28x28:10:64") + save);
  STRCMP_EQUAL("disk", said.Failed().c_str());
  STRCMP_CONTAINS("may not write to /srv/models (ProtectSystem)", said.Detail("disk").c_str());
  STRCMP_CONTAINS("ReadWritePaths=/srv/models", said.Fix("disk").c_str());
  const Diagnosis server = AskServer(
      "broker = \"127.0.0.1:1\"\njob = \"digits\"\nmodel = \"lenet5\"\nrounds = 10\n"
      "state = \"/var/lib/weft/edge/job\"\n" +
      save);
  STRCMP_EQUAL("fails", server.State("disk").c_str());
  STRCMP_EQUAL("ok", server.State("state").c_str());  // systemd makes that folder
  STRCMP_CONTAINS("/srv/models", server.Detail("disk").c_str());
}

TEST(DoctorService, MoreMemoryThanTheServiceMayTakeIsNotThere) {
  Write(root + "/proc/meminfo", "MemTotal:  1000000 kB\nMemAvailable:  900000 kB\n");
  const model::Graph graph = *model::BuildModel("lenet5");
  MemoryQuestion question{
      .batch = 8, .copies = 2, .compute = {.backend = "ref", .threads = 1}, .root = root};
  CHECK(CheckMemory(graph, question).state == CheckState::kOk);
  question.service_percent = 1;
  const Finding finding = CheckMemory(graph, question);
  CHECK(finding.state == CheckState::kFails);
  STRCMP_CONTAINS("the service may take 10.2 MB", finding.detail.c_str());
}

TEST(DoctorService, FilesThatOnlyRootMayReadAreTold) {
  if (geteuid() != 0) return;
  Install();
  const std::string data = Digits("closed/set");
  CHECK_EQUAL(0, chmod(house.Path("closed/set/train-images-idx3-ubyte").c_str(), 0600));
  Diagnosis said = Ask(Alone(data));
  STRCMP_EQUAL("data", said.Failed().c_str());
  STRCMP_CONTAINS("weft-edge.service runs as 'nobody': ", said.Detail("data").c_str());
  STRCMP_EQUAL(("give it to that user: sudo chown -R nobody " + house.Path("closed/set")).c_str(),
               said.Fix("data").c_str());
  CHECK_EQUAL(0, chmod(house.Path("closed").c_str(), 0700));
  said = AskInstalled();
  STRCMP_CONTAINS(("sudo chmod a+x " + house.Path("closed")).c_str(), said.Fix("data").c_str());
  // In the folder that systemd gives to the user with all that is in it, they are no trouble.
  ServiceUnit unit = *InstalledUnit("weft-edge.service", root);
  unit.made = {house.Path("closed")};
  CHECK(ServiceView(unit)
            .Look({house.Path("closed/set")}, ServiceView::Use::kRead,
                  [&] { return CheckReadable({house.Path("closed/set/train-images-idx3-ubyte")}); })
            .state == CheckState::kOk);
  LONGS_EQUAL(0, geteuid());
}

TEST(DoctorService, AKeyAndAConfigurationThatOnlyRootMayReadAreTold) {
  if (geteuid() != 0) return;
  Install();
  const std::string key = house.Path("device.key");
  std::filesystem::copy_file(house.Files().Key("w1"), key);
  const std::string ca = house.Path("ca.crt");
  std::filesystem::copy_file(house.Files().Certificate("ca"), ca);
  const std::string own = house.Path("device.crt");
  std::filesystem::copy_file(house.Files().Certificate("w1"), own);
  const std::string config = "broker = \"127.0.0.1:" + std::to_string(net::FreePort()) +
                             "\"\njob = \"digits\"\nworker = \"w1\"\n" + "ca = \"" + ca +
                             "\"\ncert = \"" + own + "\"\nkey = \"" + key +
                             "\"\ndata = \"synthetic:1x28x28:10:64\"\n";
  Diagnosis said = Ask(config);
  STRCMP_EQUAL("key file, port", said.Failed().c_str());
  STRCMP_CONTAINS("has mode 0600, and this user", said.Detail("key file").c_str());
  STRCMP_EQUAL(("give it to that user: sudo chown nobody " + key).c_str(),
               said.Fix("key file").c_str());
  CHECK_EQUAL(0, chown(key.c_str(), 65534, 65534));
  STRCMP_EQUAL("port", AskInstalled().Failed().c_str());
  CHECK_EQUAL(0, chmod(ca.c_str(), 0600));
  STRCMP_EQUAL("certificate, port", AskInstalled().Failed().c_str());
  CHECK_EQUAL(0, chmod(ca.c_str(), 0644));
  CHECK_EQUAL(0, chmod(house.Path("edge.toml").c_str(), 0600));
  said = AskInstalled();
  STRCMP_EQUAL("configuration", said.Failed().c_str());
  STRCMP_CONTAINS("would skip the service and report no failure",
                  said.Detail("configuration").c_str());
  STRCMP_CONTAINS("edge.toml", said.Fix("configuration").c_str());
}

TEST(DoctorService, AStateThatARunAsRootHasLeftIsTold) {
  if (geteuid() != 0) return;
  const std::string state = house.Path("state");
  Install("ReadWritePaths=" + house.Path("") + "\n");
  const std::string config =
      "broker = \"127.0.0.1:1\"\njob = \"digits\"\nmodel = \"lenet5\"\nrounds = 10\nstate = \"" +
      state + "\"\n";
  Diagnosis said = AskServer(config);
  STRCMP_CONTAINS("nothing can be written to", said.Detail("state").c_str());
  STRCMP_EQUAL(("give it to that user: sudo install -d -o nobody " + state).c_str(),
               said.Fix("state").c_str());
  Write(state + "/lock", "");
  CHECK_EQUAL(0, chown(state.c_str(), 65534, 65534));
  said = AskServer(config);
  STRCMP_CONTAINS("state/lock is another's: Permission denied", said.Detail("state").c_str());
  STRCMP_EQUAL(("give it to that user: sudo chown -R nobody " + state).c_str(),
               said.Fix("state").c_str());
  CHECK_EQUAL(0, chown((state + "/lock").c_str(), 65534, 65534));
  STRCMP_EQUAL("ok", AskServer(config).State("state").c_str());
}

TEST(DoctorService, AUserThatThereIsNotIsTold) {
  if (geteuid() != 0) return;
  Install("User=weft-nobody-yet\n");
  const Diagnosis said = Ask(Alone("synthetic:1x28x28:10:64"));
  STRCMP_EQUAL("configuration", said.Failed().c_str());
  STRCMP_CONTAINS("systemd-sysusers", said.Fix("configuration").c_str());
}

TEST(DoctorService, AnotherConfigurationIsNoServices) {
  Install();
  Write(house.Path("edge.toml"), Alone("mnist:/home/pi/mnist"));
  Write(house.Path("mine.toml"), Alone("synthetic:1x28x28:10:64"));
  STRCMP_EQUAL("", AskInstalled({"--config", house.Path("mine.toml")}).Failed().c_str());
}

}  // namespace weft::apps
