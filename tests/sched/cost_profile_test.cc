// SPDX-License-Identifier: Apache-2.0
#include "sched/cost_profile.h"

#include <cstring>

#include <CppUTest/TestHarness.h>

namespace weft::sched {
namespace {

CostProfile Good() {
  return {.units = {{"a", 8, 1, 2, 3, 4}, {"b", 8, 1, 2, 3, 4}},
          .pull_overhead_ns = 5,
          .push_overhead_ns = 6,
          .latency_ns = 7};
}

void CheckRefused(const CostProfile& profile, const char* field) {
  const Status status = Validate(profile);
  CHECK_TRUE(status.code() == StatusCode::kInvalidInput);
  STRCMP_CONTAINS(field, status.message().c_str());
}

}  // namespace

TEST_GROUP(CostProfileCheck){};

TEST(CostProfileCheck, AcceptsAGoodProfile) { CHECK_TRUE(Validate(Good()).ok()); }

TEST(CostProfileCheck, NamesWhatIsNegative) {
  CostProfile profile = Good();
  profile.units[1].push_ns = -1;
  CheckRefused(profile, "units[1].push_ns");
  profile = Good();
  profile.units[0].bytes = -1;
  CheckRefused(profile, "units[0].bytes");
  profile = Good();
  profile.latency_ns = -1;
  CheckRefused(profile, "latency_ns");
  profile = Good();
  profile.pull_overhead_ns = INT64_MIN;
  CheckRefused(profile, "pull_overhead_ns");
}

TEST(CostProfileCheck, NamesWhatMakesASumOverflow) {
  CostProfile profile = Good();
  profile.units[1].forward_ns = INT64_MAX;
  CheckRefused(profile, "units[1].forward_ns");
  profile = Good();
  profile.push_overhead_ns = kMaxIterationNs - 20;  // alone it fits, for two segments it does not
  CheckRefused(profile, "push_overhead_ns");
  profile = Good();
  profile.units[0].bytes = INT64_MAX;
  CheckRefused(profile, "units[0].bytes");
}

TEST(CostProfileCheck, RefusesNoUnitsAndTooMany) {
  CheckRefused({}, "units is empty");
  CostProfile profile;
  profile.units.resize(kMaxUnits + 1);
  CheckRefused(profile, "units has 100001 entries");
}

TEST(CostProfileCheck, TransferTimeIsRoundedToNearest) {
  LONGLONGS_EQUAL(0, TransferNs(0, 1));
  LONGLONGS_EQUAL(1'000'000'000, TransferNs(1, 1));
  LONGLONGS_EQUAL(333'333'333, TransferNs(1, 3));
  LONGLONGS_EQUAL(666'666'667, TransferNs(2, 3));
  LONGLONGS_EQUAL(500, TransferNs(1, 2'000'000));
  LONGLONGS_EQUAL(1, TransferNs(1, 2'000'000'000));  // half a nanosecond goes up
  LONGLONGS_EQUAL(0, TransferNs(1, 2'000'000'001));
  // 574,668,960 bytes of VGG-19 over 280 Mb/s: 16.4191131428... s
  LONGLONGS_EQUAL(16'419'113'143, TransferNs(574'668'960, 35'000'000));
  CHECK_TRUE(TransferNs(INT64_MAX, 1) > kMaxIterationNs);
}

TEST(CostProfileCheck, EstimatesFromWorkAndSetting) {
  const UnitWork work[] = {{"conv", 4000, 1'000'000}};
  const Setting setting{.batch = 10,
                        .gflops = 4,
                        .backward_ratio = 2.5,
                        .bytes_per_s = 1'000'000,
                        .overhead_ns = 9,
                        .rtt_ns = 11};
  const CostProfile profile = EstimateProfile(work, setting).value();
  // 2 x 1e6 x 10 operations at 4e9 a second are 5 ms.
  LONGLONGS_EQUAL(5'000'000, profile.units[0].forward_ns);
  LONGLONGS_EQUAL(12'500'000, profile.units[0].backward_ns);
  LONGLONGS_EQUAL(4'000'000, profile.units[0].pull_ns);
  LONGLONGS_EQUAL(4'000'000, profile.units[0].push_ns);
  LONGLONGS_EQUAL(9, profile.push_overhead_ns);
  LONGLONGS_EQUAL(11, profile.latency_ns);
}

TEST(CostProfileCheck, OddLatencyLosesNoNanosecond) {
  const CostProfile profile = Good();
  LONGLONGS_EQUAL(7, profile.push_latency_ns() + profile.pull_latency_ns());
}

}  // namespace weft::sched
