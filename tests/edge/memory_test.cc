// SPDX-License-Identifier: Apache-2.0
// weft-edge under a memory budget, as a process of its own: what it computes again, it computes to
// the same bits.
#include "tests/edge/child_process.h"
#include "tests/edge/typed_edge.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

// How many layers a run says it computes again in backward.
int ComputedAgain(const std::string& text) {
  const size_t end = text.find(" layers are computed again");
  if (end == std::string::npos) return 0;
  return std::stoi(text.substr(text.find_last_not_of("0123456789", end - 1) + 1));
}

// What a run says was the most memory it held, in MB.
double PeakMegabytes(const std::string& text) {
  const std::string before = "peak memory ";
  const size_t begin = text.find(before);
  if (begin == std::string::npos) return 0;
  size_t used = 0;
  const std::string rest = text.substr(begin + before.size());
  const double number = std::stod(rest, &used);
  return rest.substr(used).starts_with(" MB") ? number : 0;
}

}  // namespace

TEST_GROUP(EdgeMemory) { EdgeFolder folder; };

TEST(EdgeMemory, ABudgetChangesWhatIsComputedTwiceAndNoBit) {
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments =
        folder.Lenet({"--model", "mobilenet_v2", "--data", "synthetic:3x32x32:10:4", "--batch", "1",
                      "--steps", "1"});
    std::erase(arguments, "--json");
    arguments.insert(arguments.end(), more.begin(), more.end());
    ChildProcess child(EdgeCommand(arguments));
    std::string text;
    while (const std::optional<std::string> line = child.NextLine()) text += *line + "\n";
    LONGS_EQUAL(0, child.Wait());
    return text;
  };
  const std::string free = run({});
  const double peak = PeakMegabytes(free);
  CHECK_TRUE(peak > 20);
  // 32 MB of activations are about half of the peak, and can be brought down to 16 MB.
  const std::string frugal = run({"--memory-budget", std::to_string(peak - 10) + "MB"});
  CHECK_TRUE(ComputedAgain(frugal) > ComputedAgain(free));
  STRCMP_EQUAL(free.substr(free.rfind("model ")).c_str(),
               frugal.substr(frugal.rfind("model ")).c_str());
}

}  // namespace weft::apps
