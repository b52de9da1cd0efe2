// SPDX-License-Identifier: Apache-2.0
#include "apps/doctor/board_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "boards/probe.h"

namespace weft::apps {
namespace {

namespace fs = std::filesystem;

std::string FirstWord(const fs::path& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

std::optional<int64_t> Number(const fs::path& path, int base = 10) {
  const std::string word = FirstWord(path);
  const char* begin = word.data() + (base == 16 && word.starts_with("0x") ? 2 : 0);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(begin, word.data() + word.size(), number, base);
  if (word.empty() || error != std::errc{}) return std::nullopt;
  return number;
}

// The folders in `folder` whose names begin with `prefix`, in order.
std::vector<fs::path> Folders(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::optional<Finding> CheckHeat(const std::string& root) {
  constexpr int64_t kHot = 80'000;  // thousandths of a degree, where no zone says otherwise
  std::optional<int64_t> hottest;
  std::string where;
  for (const fs::path& zone : Folders(root + "/sys/class/thermal", "thermal_zone")) {
    const std::optional<int64_t> now = Number(zone / "temp");
    if (!now) continue;
    int64_t limit = kHot;
    for (int trip = 0; trip < 16; ++trip) {
      const std::string name = "trip_point_" + std::to_string(trip);
      if (FirstWord(zone / (name + "_type")) != "passive") continue;
      const std::optional<int64_t> at = Number(zone / (name + "_temp"));
      if (at && *at > 0) limit = std::min(limit, *at);
    }
    const std::string type = FirstWord(zone / "type");
    if (*now >= limit) {
      return Doubtful(fmt::format("{} has {} °C, and is slowed down from {} °C on", type,
                                  *now / 1000, limit / 1000),
                      "give the board a heat sink or a fan");
    }
    if (!hottest || *now > *hottest) {
      hottest = now;
      where = type;
    }
  }
  if (!hottest) return std::nullopt;
  return Good(fmt::format("{} °C at most ({})", *hottest / 1000, where));
}

std::optional<Finding> CheckGovernor(const std::string& root) {
  std::set<std::string> governors;
  std::string held_back;
  for (const fs::path& policy : Folders(root + "/sys/devices/system/cpu/cpufreq", "policy")) {
    std::string governor = FirstWord(policy / "scaling_governor");
    if (governor.empty()) continue;
    // Of this driver, powersave means to go by the load.
    const std::string driver = FirstWord(policy / "scaling_driver");
    if (governor == "powersave" && (driver == "intel_pstate" || driver.starts_with("amd-pstate"))) {
      governor = driver;
    }
    governors.insert(governor);
    const std::optional<int64_t> allowed = Number(policy / "scaling_max_freq");
    const std::optional<int64_t> possible = Number(policy / "cpuinfo_max_freq");
    if (allowed && possible && *allowed < *possible && held_back.empty()) {
      held_back = fmt::format("{} may run at {} MHz of {}", policy.filename().string(),
                              *allowed / 1000, *possible / 1000);
    }
  }
  if (governors.empty()) return std::nullopt;
  constexpr const char* kFix =
      "echo performance | sudo tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor";
  if (governors.contains("powersave")) {
    return Doubtful("the governor is powersave: the slowest frequency, whatever the load", kFix);
  }
  if (!held_back.empty()) {
    return Doubtful(held_back, "raise scaling_max_freq, or see who lowered it");
  }
  return Good(fmt::format("{}", fmt::join(governors, ", ")));
}

std::optional<Finding> CheckThrottling(const std::string& root) {
  const std::optional<int64_t> bits =
      Number(root + "/sys/devices/platform/soc/soc:firmware/get_throttled", 16);
  if (!bits) {
    const std::vector<std::string> words = boards::Probe(root).compatible;
    const bool raspberry = std::any_of(words.begin(), words.end(), [](const std::string& word) {
      return word.starts_with("raspberrypi,");
    });
    if (!raspberry) return std::nullopt;
    return Finding{.state = CheckState::kNotChecked,
                   .detail = "because this kernel does not tell: only Raspberry Pi's own does"};
  }
  const auto any = [&](int64_t now) { return (*bits & now) != 0; };
  constexpr const char* kSupply = "use the board's own power supply and a short cable";
  constexpr const char* kCool = "give the board a heat sink or a fan";
  if (any(0x1)) return Doubtful("the supply's voltage is too low now", kSupply);
  if (any(0x2 | 0x4 | 0x8)) return Doubtful("the firmware slows the processor down now", kCool);
  if (any(0x10000)) return Doubtful("the voltage was too low since the board started", kSupply);
  if (any(0x20000 | 0x40000 | 0x80000)) {
    return Doubtful("the firmware has slowed the processor down since the board started", kCool);
  }
  return Good("the firmware has not slowed anything down");
}

std::optional<MachineMemory> MemoryOfMachine(const std::string& root) {
  MachineMemory memory{.available = 0, .most = boards::Probe(root).memory_there()};
  std::ifstream meminfo(root + "/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    std::istringstream words(line);
    std::string key;
    int64_t kib = 0;
    words >> key >> kib;
    if (key == "MemAvailable:") memory.available = kib << 10;
  }
  if (memory.most == 0) return std::nullopt;
  memory.available = std::min(memory.available, memory.most);
  return memory;
}

}  // namespace weft::apps
