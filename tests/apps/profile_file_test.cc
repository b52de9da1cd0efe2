// SPDX-License-Identifier: Apache-2.0
// Profiles come from files people edit: each kind of mistake gets a sentence with the field in it.
#include "apps/profile/profile_file.h"

#include <string>

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

std::string Profile(const std::string& unit, const std::string& top = "") {
  return R"({"units":[)" + unit + R"(],"pull_overhead_ns":5,"push_overhead_ns":6,"latency_ns":7)" +
         top + "}";
}

const char kTimedUnit[] = R"({"name":"a","forward_ns":1,"backward_ns":2,"pull_ns":3,"push_ns":4})";

void CheckRefused(const std::string& text, const char* expected) {
  const Result<sched::CostProfile> profile = ParseProfile(text);
  CHECK_FALSE(profile.ok());
  if (profile.ok()) return;
  CHECK_TRUE(profile.status().code() == StatusCode::kInvalidInput);
  STRCMP_CONTAINS(expected, profile.status().message().c_str());
  CHECK_TRUE(profile.status().message().find('\n') == std::string::npos);
}

// A unit with `field` replaced by `value`, or left out where value is empty.
std::string UnitWith(const std::string& field, const std::string& value) {
  std::string unit = kTimedUnit;
  const size_t at = unit.find("\"" + field + "\"");
  const size_t end = unit.find_first_of(",}", at);
  if (!value.empty()) return unit.replace(at, end - at, "\"" + field + "\":" + value);
  unit.erase(at, end - at + (unit[end] == ',' ? 1 : 0));
  if (const size_t dangling = unit.find(",}"); dangling != std::string::npos) {
    unit.erase(dangling, 1);
  }
  return unit;
}

}  // namespace

TEST_GROUP(ProfileFile){};

TEST(ProfileFile, ReadsTimes) {
  const sched::CostProfile profile = ParseProfile(Profile(kTimedUnit)).value();
  LONGS_EQUAL(1, profile.unit_count());
  STRCMP_EQUAL("a", profile.units[0].name.c_str());
  LONGLONGS_EQUAL(1, profile.units[0].forward_ns);
  LONGLONGS_EQUAL(2, profile.units[0].backward_ns);
  LONGLONGS_EQUAL(3, profile.units[0].pull_ns);
  LONGLONGS_EQUAL(4, profile.units[0].push_ns);
  LONGLONGS_EQUAL(5, profile.pull_overhead_ns);
  LONGLONGS_EQUAL(6, profile.push_overhead_ns);
  LONGLONGS_EQUAL(7, profile.latency_ns);
}

TEST(ProfileFile, TurnsBytesIntoTimesByTheRates) {
  const sched::CostProfile profile =
      ParseProfile(Profile(R"({"name":"a","forward_ns":1,"backward_ns":2,"bytes":1000})",
                           R"(,"pull_bytes_per_s":1000000,"push_bytes_per_s":500000)"))
          .value();
  LONGLONGS_EQUAL(1'000'000, profile.units[0].pull_ns);
  LONGLONGS_EQUAL(2'000'000, profile.units[0].push_ns);
  LONGLONGS_EQUAL(1000, profile.units[0].bytes);
}

TEST(ProfileFile, AcceptsWholeNumbersInFloatingNotation) {
  LONGLONGS_EQUAL(2000,
                  ParseProfile(Profile(UnitWith("forward_ns", "2e3"))).value().units[0].forward_ns);
}

TEST(ProfileFile, NamesEveryFieldThatIsMissing) {
  for (const char* field : {"name", "forward_ns", "backward_ns", "pull_ns", "push_ns"}) {
    CheckRefused(Profile(UnitWith(field, "")), ("units[0]." + std::string(field)).c_str());
  }
  CheckRefused(R"({"units":[],"push_overhead_ns":6,"latency_ns":7})", "pull_overhead_ns");
  CheckRefused(R"({"units":[],"pull_overhead_ns":6,"latency_ns":7})", "push_overhead_ns");
  CheckRefused(R"({"units":[],"pull_overhead_ns":6,"push_overhead_ns":7})", "latency_ns");
  CheckRefused(R"({"pull_overhead_ns":6})", "units");
  CheckRefused(Profile(R"({"name":"a","forward_ns":1,"backward_ns":2,"bytes":1000})"),
               "pull_bytes_per_s");
}

TEST(ProfileFile, NamesEveryFieldThatIsNegativeFractionalOrNoNumber) {
  for (const char* field : {"forward_ns", "backward_ns", "pull_ns", "push_ns"}) {
    const std::string where = "units[0]." + std::string(field);
    CheckRefused(Profile(UnitWith(field, "-1")), (where + " is negative").c_str());
    CheckRefused(Profile(UnitWith(field, "1.5")), (where + " is not whole").c_str());
    CheckRefused(Profile(UnitWith(field, "\"12\"")), (where + " must be a number").c_str());
    CheckRefused(Profile(UnitWith(field, "null")), (where + " must be a number").c_str());
    CheckRefused(Profile(UnitWith(field, "[]")), (where + " must be a number").c_str());
  }
  CheckRefused(Profile(UnitWith("name", "3")), "units[0].name must be a string");
}

TEST(ProfileFile, NamesEveryFieldThatOverflows) {
  for (const char* field : {"forward_ns", "backward_ns", "pull_ns", "push_ns"}) {
    const std::string where = "units[0]." + std::string(field);
    CheckRefused(Profile(UnitWith(field, "9223372036854775807")), where.c_str());
    CheckRefused(Profile(UnitWith(field, "18446744073709551615")), where.c_str());
    CheckRefused(Profile(UnitWith(field, "1e300")), where.c_str());
  }
  CheckRefused(Profile(kTimedUnit, R"(,"pull_overhead_ns":1000000000000001)"), "pull_overhead_ns");
  CheckRefused(Profile(UnitWith("forward_ns", "1e999")), "number");
}

TEST(ProfileFile, RefusesRatesThatAreNoRates) {
  for (const char* rate : {"0", "-5", "\"fast\"", "1e18", "0.5"}) {
    CheckRefused(Profile(R"({"name":"a","forward_ns":1,"backward_ns":2,"bytes":1000})",
                         R"(,"push_bytes_per_s":1,"pull_bytes_per_s":)" + std::string(rate)),
                 "pull_bytes_per_s");
  }
}

TEST(ProfileFile, RefusesWhatIsNoProfileAtAll) {
  for (const char* text : {"", "{", "[1,2", "nonsense", "{\"units\":[}", "\xff\xfe"}) {
    CheckRefused(text, "not JSON");
  }
  for (const char* text : {"[]", "3", "\"units\"", "null"}) CheckRefused(text, "not a profile");
  CheckRefused(Profile(""), "units is empty");
  CheckRefused(R"({"units":{}})", "units must be an array");
  CheckRefused(Profile("3"), "units[0] must be an object");
  CheckRefused(std::string(200'000, '['), "not JSON");
}

TEST(ProfileFile, RefusesMoreUnitsThanCanBePlanned) {
  std::string units = kTimedUnit;
  for (int i = 0; i < sched::kMaxUnits; ++i) units += std::string(",") + "{}";
  CheckRefused(Profile(units), "units has 100001 entries");
}

TEST(ProfileFile, NamesTheFileThatCannotBeRead) {
  const Status status = ReadProfileFile("/nowhere/profile.json").status();
  CHECK_TRUE(status.code() == StatusCode::kNotFound);
  STRCMP_CONTAINS("/nowhere/profile.json", status.message().c_str());
  STRCMP_CONTAINS("cannot read", ReadProfileFile("/").status().message().c_str());
}

}  // namespace weft::apps
