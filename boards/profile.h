// SPDX-License-Identifier: Apache-2.0
// What is known of a kind of board before it is met: how to recognise it, and how to train on it
// where nobody says otherwise. Written in boards/*.toml.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::boards {

enum class CoreUse {
  kAll,
  kOnePerCore,  // one hardware thread of each core: a second one has nothing to compute with
};

// The service of weft may take 85 % of the memory: what is planned stays well below, or it would
// be refused there what is promised here.
inline constexpr int kMostBudgetPercent = 80;

struct Profile {
  std::string name;
  std::string description;
  std::string preset;                 // of CMakePresets.json: what to build for it
  std::vector<std::string> backends;  // in order of preference; a build may lack some

  // Any of these is enough; the first kind that fits any profile decides.
  std::vector<std::string> compatible;     // of the device tree, whole words
  std::vector<std::string> models;         // parts of the device tree's or cpuinfo's model
  std::vector<std::string> cpus;           // parts of cpuinfo's model name
  std::vector<std::string> architectures;  // what is left: aarch64, armv7, x86_64

  std::vector<int> core_counts;  // it is sold with; empty: any
  CoreUse use = CoreUse::kAll;
  std::vector<int64_t> memory_sizes;  // it is sold with, ascending; empty: any
  int budget_percent = 50;            // of the memory that is there, for the whole trainer
  std::map<std::string, int> batch;   // images per step, by model of the zoo
};

}  // namespace weft::boards
