// SPDX-License-Identifier: Apache-2.0
#include "sched/strategy.h"

#include <string>

#include "sched/dynacomm_paper.h"

#include <CppUTest/TestHarness.h>

namespace weft::sched {

TEST_GROUP(StrategyNames){};

TEST(StrategyNames, ReadBackAsThemselves) {
  for (Strategy strategy : AllStrategies()) {
    CHECK_TRUE(ParseStrategy(Name(strategy)).value() == strategy);
  }
}

TEST(StrategyNames, AnUnknownOneIsAnsweredWithTheKnownOnes) {
  const Status status = ParseStrategy("fastest").status();
  CHECK_TRUE(status.code() == StatusCode::kInvalidInput);
  STRCMP_CONTAINS("'fastest'", status.message().c_str());
  STRCMP_CONTAINS("sequential, lbl, ibatch, dynacomm, weave", status.message().c_str());
}

TEST(StrategyNames, TheCubicPlannerRefusesWhatWouldTakeMinutes) {
  CostProfile profile;
  profile.units.resize(kMaxPaperUnits + 1);
  const Status status = PlanIteration(Strategy::kDynacommPaper, profile).status();
  STRCMP_CONTAINS("dynacomm_paper takes at most 2000 units", status.message().c_str());
  STRCMP_CONTAINS("use dynacomm", status.message().c_str());
}

TEST(StrategyNames, IbatchPushesLayerByLayer) {
  CostProfile profile;
  profile.units.resize(4, {"u", 1, 1, 1, 1, 1});
  const IterationPlan plan = PlanIteration(Strategy::kIbatch, profile).value();
  CHECK((Cuts{0, 1, 2, 3, 4} == plan.backward.cuts));
}

}  // namespace weft::sched
