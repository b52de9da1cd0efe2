// SPDX-License-Identifier: Apache-2.0
// The static weft-edge: it needs nothing, trains, and says what it cannot do.
#include "tests/edge/child_process.h"
#include "tests/edge/typed_edge.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

struct Said {
  int exit_code = 0;
  std::vector<std::string> lines;
};

Said Run(const std::vector<std::string>& command) {
  std::vector<std::string> all = {"sh", "-c", "exec \"$@\" 2>&1", "sh"};
  all.insert(all.end(), command.begin(), command.end());
  ChildProcess child(all);
  Said said;
  while (const std::optional<std::string> line = child.NextLine()) said.lines.push_back(*line);
  said.exit_code = child.Wait();
  return said;
}

}  // namespace

TEST_GROUP(LeanStatic) { EdgeFolder folder; };

TEST(LeanStatic, NeedsNoLibrary) {
  const Said said = Run({"ldd", EdgeCommand({}).front()});
  LONGS_EQUAL(1, said.lines.size());
  STRCMP_CONTAINS("statically linked", said.lines[0].c_str());
}

TEST(LeanStatic, Trains) {
  const Said said = Run(EdgeCommand(EdgeFolder::Lenet()));
  LONGS_EQUAL(0, said.exit_code);
  LONGS_EQUAL(13, said.lines.size());
  // Where the very same steps are taken by the library's own code, in this process.
  const EdgeAnswer here = EdgeFolder::Type(EdgeFolder::Lenet());
  STRCMP_EQUAL(here.ModelHash().c_str(),
               nlohmann::json::parse(said.lines.back()).value("model_hash", "").c_str());
}

TEST(LeanStatic, SaysThatItCannotJoinAJob) {
  const Said said = Run(EdgeCommand({"train", "--broker", "127.0.0.1:1883", "--job", "digits",
                                     "--worker", "pi1", "--data", "synthetic:1x28x28:10:64"}));
  LONGS_EQUAL(2, said.exit_code);
  LONGS_EQUAL(1, said.lines.size());
  STRCMP_CONTAINS("the static build, which cannot join a job", said.lines[0].c_str());
}

TEST(LeanStatic, KnowsItsBoard) {
  const Said said = Run(EdgeCommand({"board", "--model", "lenet5", "--json"}));
  LONGS_EQUAL(0, said.exit_code);
  const nlohmann::json board = nlohmann::json::parse(said.lines.at(0));
  STRCMP_EQUAL("ref", board["use"]["backends"].at(0).get<std::string>().c_str());
}

}  // namespace weft::apps
