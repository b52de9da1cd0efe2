// SPDX-License-Identifier: Apache-2.0
// A board's memory, as a control group of that size: what `weft-edge board` says can be trained
// really can, under the profile's defaults and within its share, and what cannot is refused before
// the first step. WEFT_ALL_BOARDS in the environment asks for every size and model of the board it
// names, or of all; that takes the better part of an hour.
#include <cstdio>

#include "apps/board/profiles.h"
#include "tests/edge/child_process.h"
#include "tests/edge/memory_cgroup.h"
#include "tests/edge/typed_edge.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

constexpr int64_t kMebibyte = 1 << 20;

struct Outcome {
  int exit_code = 0;  // -1: killed
  std::vector<std::string> lines;
  int64_t oom_kills = 0;

  nlohmann::json Last() const {
    const nlohmann::json last =
        nlohmann::json::parse(lines.empty() ? "" : lines.back(), nullptr, false);
    return last.is_object() ? last : nlohmann::json::object();
  }
};

Outcome RunInside(const MemoryCgroup& group, const std::vector<std::string>& arguments) {
  ChildProcess child(group.Inside(EdgeCommand(arguments)));
  Outcome outcome;
  // Kernels are timed in silence, and the largest model's for long.
  while (const std::optional<std::string> line = child.NextLine(1800)) {
    outcome.lines.push_back(*line);
  }
  outcome.exit_code = child.Wait();
  outcome.oom_kills = group.OomKills();
  return outcome;
}

std::vector<std::string> TrainArguments(const std::string& board, const std::string& model) {
  const std::string data = model == "lenet5"           ? "synthetic:1x28x28:10:64"
                           : model == "resnet18-cifar" ? "synthetic:3x32x32:10:64"
                                                       : "synthetic:3x64x64:1000:64";
  return {"train", "--local", "--json", "--board", board, "--model",
          model,   "--data",  data,     "--steps", "2"};
}

// Whether there is a real limit; says so where there is none.
bool IsReal(const MemoryCgroup& group) {
  if (group.usable()) return true;
  const std::string text =
      "\nNOT UNDER A REAL MEMORY LIMIT, only by the program's own account: " + group.why() +
      "; run as root to check it for real\n";
  UT_PRINT(text.c_str());
  return false;
}

// All that board `name` claims in `bytes` of memory, or `only` these. Whether every model had the
// profile's whole batch, so that more memory would change nothing.
bool CheckClaims(const boards::Profile& profile, int64_t bytes,
                 const std::vector<std::string>& only) {
  const std::string& name = profile.name;
  const MemoryCgroup group(bytes);
  const bool real = IsReal(group);
  const nlohmann::json claims = RunInside(group, {"board", "--board", name, "--json"}).Last();
  CHECK_TRUE(claims.contains("models"));
  const int64_t budget = claims["use"]["memory_budget_bytes"];
  CHECK_TRUE(!real || budget < bytes);
  size_t tried = 0;
  bool whole = true;
  for (const nlohmann::json& claim : claims["models"]) {
    const std::string model = claim["name"];
    whole = whole && claim["batch"] == profile.batch.at(model);
    const bool wanted = only.empty() || std::find(only.begin(), only.end(), model) != only.end();
    if (!wanted || claim["batch"].is_null()) continue;
    ++tried;
    const Outcome outcome = RunInside(group, TrainArguments(name, model));
    const nlohmann::json final = outcome.Last();
    const std::string what = name + " with " + std::to_string(bytes / kMebibyte) + " MiB, " + model;
    if (only.empty()) {
      std::printf("%s: batch %d, %d of %d MiB\n", what.c_str(), claim["batch"].get<int>(),
                  static_cast<int>(final.value("peak_rss_bytes", int64_t{0}) / kMebibyte),
                  static_cast<int>(budget / kMebibyte));
      std::fflush(stdout);
    }
    LONGS_EQUAL_TEXT(0, outcome.oom_kills, what.c_str());
    LONGS_EQUAL_TEXT(0, outcome.exit_code, what.c_str());
    CHECK_TRUE_TEXT(final.value("batch", 0) >= claim["batch"].get<int>(), what.c_str());
    CHECK_TRUE_TEXT(final.value("peak_rss_bytes", int64_t{0}) <= budget, what.c_str());
  }
  CHECK_TRUE(tried >= std::max<size_t>(1, only.size()));
  return whole;
}

const boards::Profile& ProfileOf(const std::string& name) {
  for (const boards::Profile& profile : Profiles()) {
    if (profile.name == name) return profile;
  }
  FAIL(name.c_str());
  return Profiles().front();
}

}  // namespace

TEST_GROUP(EdgeBoardMemory) { EdgeFolder folder; };

TEST(EdgeBoardMemory, WhatABoardClaimsItTrainsWithinItsShare) {
  if (const char* wanted = std::getenv("WEFT_ALL_BOARDS")) {
    for (const boards::Profile& profile : Profiles()) {
      if (wanted != std::string("all") && wanted != profile.name) continue;
      for (int64_t bytes : profile.memory_sizes) {
        if (CheckClaims(profile, bytes, {})) break;
      }
    }
    return;
  }
  CheckClaims(ProfileOf("rpi3"), 512 * kMebibyte, {"lenet5", "squeezenet1_1"});
  CheckClaims(ProfileOf("rpi4"), 1024 * kMebibyte, {"resnet18"});
}

TEST(EdgeBoardMemory, WhatDoesNotFitIsRefusedInOneSentenceBeforeTheFirstStep) {
  const MemoryCgroup group(512 * kMebibyte);
  IsReal(group);
  // The first has parameters that alone are more than there is, the second activations.
  std::vector<std::string> too_many = TrainArguments("rpi3", "resnet50");
  too_many.insert(too_many.end(), {"--batch", "256"});
  for (const std::vector<std::string>& arguments : {TrainArguments("rpi3", "vgg19"), too_many}) {
    const Outcome outcome = RunInside(group, arguments);
    LONGS_EQUAL(0, outcome.oom_kills);
    LONGS_EQUAL(2, outcome.exit_code);
    LONGS_EQUAL(1, outcome.lines.size());
    STRCMP_CONTAINS("weft-edge: not enough memory for board rpi3", outcome.lines[0].c_str());
  }
}

TEST(EdgeBoardMemory, TheLimitIsReal) {
  const MemoryCgroup group(256 * kMebibyte);
  if (!IsReal(group)) return;
  std::vector<std::string> arguments = TrainArguments("rpi3", "vgg11");
  arguments.insert(arguments.end(), {"--memory-budget", "64GiB"});
  const Outcome outcome = RunInside(group, arguments);
  LONGS_EQUAL(-1, outcome.exit_code);
  CHECK_TRUE(outcome.oom_kills >= 1);
}

}  // namespace weft::apps
