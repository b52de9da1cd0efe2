// SPDX-License-Identifier: Apache-2.0
// Looks at the machine: what it calls itself, its processors, its memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::boards {

struct Facts {
  std::string architecture;             // this program's: aarch64, armv7, x86_64
  std::string model;                    // "Raspberry Pi 4 Model B Rev 1.4"; may be empty
  std::vector<std::string> compatible;  // of the device tree, the most special first
  std::string cpu;                      // "Intel(R) Xeon(R) CPU E3-1230 v5 @ 3.40GHz"; may be empty
  std::vector<int> cpus;                // online, and this process may use them; at least one
  std::vector<int> one_per_core;        // of those
  int64_t memory_bytes = 0;             // the machine's; 0: unknown
  int64_t memory_limit_bytes = 0;       // of this process's control groups; 0: none

  // The most that could ever be had; 0: unknown.
  int64_t memory_there() const;

  // What a profile's share is of; 0: unknown. A group that leaves nearly all of the machine is no
  // smaller machine but a fence around the trainer, as the one of weft's own service: within it
  // the share is the same as without. A tighter one is all there is.
  int64_t memory_to_share() const;
};

// `root` is where /proc and /sys are looked for: "" for this machine's. What cannot be read stays
// empty.
Facts Probe(const std::string& root);

}  // namespace weft::boards
