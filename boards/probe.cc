// SPDX-License-Identifier: Apache-2.0
#include "boards/probe.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "boards/cgroup_limit.h"
#include "boards/cpu_list.h"

namespace weft::boards {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The value behind the first "key :" of a file of such lines; "" without one.
std::string ValueOf(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t key_end = line.find_last_not_of(" \t", colon == 0 ? 0 : colon - 1) + 1;
    if (line.substr(0, key_end) != key) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// Words that each end in a zero byte, as in a device tree.
std::vector<std::string> ZeroEnded(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream parts(text);
  for (std::string word; std::getline(parts, word, '\0');) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

const char* ThisArchitecture() {
#if defined(__aarch64__)
  return "aarch64";
#elif defined(__arm__)
  return "armv7";
#elif defined(__x86_64__)
  return "x86_64";
#else
  return "";
#endif
}

// The processors of `cpus` that are the first of their core.
std::vector<int> OnePerCore(const std::string& root, const std::vector<int>& cpus) {
  std::vector<int> first;
  for (int cpu : cpus) {
    std::vector<int> siblings =
        ParseCpuList(ReadAll(root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                             "/topology/thread_siblings_list"));
    const bool earlier = std::any_of(siblings.begin(), siblings.end(), [&](int sibling) {
      return sibling < cpu && std::binary_search(cpus.begin(), cpus.end(), sibling);
    });
    if (!earlier) first.push_back(cpu);
  }
  return first;
}

}  // namespace

int64_t Facts::memory_there() const {
  if (memory_limit_bytes == 0) return memory_bytes;
  if (memory_bytes == 0) return memory_limit_bytes;
  return std::min(memory_limit_bytes, memory_bytes);
}

int64_t Facts::memory_to_share() const {
  // The service's MemoryMax=85%, of which systemd and the kernel take whole pages.
  constexpr int kFencePercent = 84;
  const bool fence = memory_bytes > 0 && memory_limit_bytes >= memory_bytes / 100 * kFencePercent;
  return fence ? memory_bytes : memory_there();
}

Facts Probe(const std::string& root) {
  Facts facts{.architecture = ThisArchitecture()};
  for (const char* tree : {"/proc/device-tree", "/sys/firmware/devicetree/base"}) {
    if (facts.compatible.empty()) {
      facts.compatible = ZeroEnded(ReadAll(root + tree + "/compatible"));
    }
    if (facts.model.empty()) facts.model = ReadAll(root + tree + "/model").c_str();
  }
  const std::string cpuinfo = ReadAll(root + "/proc/cpuinfo");
  if (facts.model.empty()) facts.model = ValueOf(cpuinfo, "Model");
  facts.cpu = ValueOf(cpuinfo, "model name");

  facts.cpus = ParseCpuList(ReadAll(root + "/sys/devices/system/cpu/online"));
  const std::vector<int> allowed =
      ParseCpuList(ValueOf(ReadAll(root + "/proc/self/status"), "Cpus_allowed_list"));
  if (facts.cpus.empty()) facts.cpus = allowed;
  if (!allowed.empty()) {
    std::erase_if(facts.cpus, [&](int cpu) {
      return !std::binary_search(allowed.begin(), allowed.end(), cpu);
    });
  }
  if (facts.cpus.empty()) facts.cpus = {0};
  facts.one_per_core = OnePerCore(root, facts.cpus);

  std::istringstream total(ValueOf(ReadAll(root + "/proc/meminfo"), "MemTotal"));
  int64_t kibibytes = 0;
  if (total >> kibibytes) facts.memory_bytes = 1024 * kibibytes;
  facts.memory_limit_bytes = CgroupMemoryLimit(root);
  return facts;
}

}  // namespace weft::boards
