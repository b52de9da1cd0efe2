// SPDX-License-Identifier: Apache-2.0
#include "tests/edge/memory_cgroup.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace weft::apps {
namespace {

bool Write(const std::string& path, const std::string& text) {
  std::ofstream stream(path);
  stream << text;
  stream.close();
  return !stream.fail();
}

}  // namespace

MemoryCgroup::MemoryCgroup(int64_t limit_bytes) {
  static int count = 0;
  const std::string name = "/weft-test-" + std::to_string(getpid()) + "-" + std::to_string(count++);
  const std::string mount = "/sys/fs/cgroup";
  std::error_code error;
  unified_ = std::filesystem::exists(mount + "/cgroup.controllers", error);
  folder_ = mount + (unified_ ? "" : "/memory") + name;
  if (unified_) Write(mount + "/cgroup.subtree_control", "+memory");
  std::filesystem::create_directory(folder_, error);
  if (error) {
    why_ = "cannot make " + folder_ + ": " + error.message();
    folder_.clear();
    return;
  }
  const std::string limit = std::to_string(limit_bytes);
  const bool limited = unified_ ? Write(folder_ + "/memory.max", limit)
                                : Write(folder_ + "/memory.limit_in_bytes", limit);
  if (!limited) why_ = "cannot set a memory limit in " + folder_;
  // Kernels that account for no swap have no such file, and this machine may have no swap at all.
  if (unified_) {
    Write(folder_ + "/memory.swap.max", "0");
  } else {
    Write(folder_ + "/memory.memsw.limit_in_bytes", limit);
    Write(folder_ + "/memory.swappiness", "0");
  }
}

MemoryCgroup::~MemoryCgroup() {
  if (folder_.empty()) return;
  // For a moment a group still counts a process that is gone already.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (rmdir(folder_.c_str()) != 0 && errno == EBUSY &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
}

std::vector<std::string> MemoryCgroup::Inside(const std::vector<std::string>& command) const {
  const std::string enter = usable() ? "echo $$ > " + folder_ + "/cgroup.procs && " : "";
  std::vector<std::string> inside = {"sh", "-c", enter + "exec \"$@\" 2>&1", "sh"};
  inside.insert(inside.end(), command.begin(), command.end());
  return inside;
}

int64_t MemoryCgroup::OomKills() const {
  std::ifstream stream(folder_ + (unified_ ? "/memory.events" : "/memory.oom_control"));
  for (std::string key; stream >> key;) {
    int64_t count = 0;
    stream >> count;
    if (key == "oom_kill") return count;
  }
  return 0;
}

}  // namespace weft::apps
