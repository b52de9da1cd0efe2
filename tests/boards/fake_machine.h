// SPDX-License-Identifier: Apache-2.0
// A machine that is only files: /proc and /sys in a folder of their own, as a board would have
// them.
#pragma once

#include <filesystem>
#include <string>

#include "tests/files/scratch_folder.h"

namespace weft::boards {

class FakeMachine {
 public:
  std::string root() const { return folder_.path(); }

  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_.Path(path)).parent_path());
    apps::WriteAll(folder_.Path(path), text);
  }

  // `compatible` with '|' where a device tree has its zero bytes.
  void DeviceTree(const std::string& model, std::string compatible) const {
    for (char& c : compatible) c = c == '|' ? '\0' : c;
    Write("proc/device-tree/model", model + std::string(1, '\0'));
    Write("proc/device-tree/compatible", compatible + std::string(1, '\0'));
  }

  // "0-3" and "0-3", say; and so many hardware threads to a core, numbered as Linux does: a core's
  // second one comes after all first ones.
  void Cpus(const std::string& online, const std::string& allowed) const {
    Write("sys/devices/system/cpu/online", online + "\n");
    Write("proc/self/status", "Name:\tweft-edge\nCpus_allowed:\tff\nCpus_allowed_list:\t" +
                                  allowed + "\nMems_allowed:\t1\n");
  }
  void TwoThreadsPerCore(int cores) const {
    for (int cpu = 0; cpu < 2 * cores; ++cpu) {
      const int core = cpu % cores;
      Write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
            std::to_string(core) + "," + std::to_string(core + cores) + "\n");
    }
  }

  void Memory(int64_t kibibytes) const {
    Write("proc/meminfo",
          "MemTotal:        " + std::to_string(kibibytes) + " kB\nMemFree:          123456 kB\n");
  }

 private:
  apps::ScratchFolder folder_;
};

}  // namespace weft::boards
