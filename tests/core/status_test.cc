// SPDX-License-Identifier: Apache-2.0
#include "core/status.h"

#include <memory>
#include <string>
#include <utility>

#include <CppUTest/TestHarness.h>

namespace weft {

TEST_GROUP(Status){};

TEST(Status, IsOkUnlessTold) {
  CHECK(Status().ok());
  CHECK(Status::Ok().ok());
  CHECK(Status::Ok().code() == StatusCode::kOk);
  STRCMP_EQUAL("", Status::Ok().message().c_str());
}

TEST(Status, KeepsTheCodeAndTheSentence) {
  const Status status = Status::NotFound("no model named lenet6; try lenet5");
  CHECK_FALSE(status.ok());
  CHECK(status.code() == StatusCode::kNotFound);
  STRCMP_EQUAL("no model named lenet6; try lenet5", status.message().c_str());
}

TEST(Status, TellsTheFailureFromFurtherOut) {
  const Status inner = Status::InvalidInput("line 3: rate must be positive");
  const Status outer = inner.WithContext("reading link.json");
  CHECK(outer.code() == StatusCode::kInvalidInput);
  STRCMP_EQUAL("reading link.json: line 3: rate must be positive", outer.message().c_str());
}

TEST(Status, AddsNoContextToSuccess) {
  const Status status = Status::Ok().WithContext("reading link.json");
  CHECK(status.ok());
  STRCMP_EQUAL("", status.message().c_str());
}

TEST_GROUP(Result){};

TEST(Result, HoldsAValue) {
  Result<std::string> result = std::string("weft");
  CHECK(result.ok());
  CHECK(result.status().ok());
  STRCMP_EQUAL("weft", result->c_str());
  *result += "er";
  STRCMP_EQUAL("wefter", result.value().c_str());
}

TEST(Result, ExplainsAMissingValue) {
  const Result<int> result = Status::Unavailable("gnuplot is not installed");
  CHECK_FALSE(result.ok());
  CHECK(result.status().code() == StatusCode::kUnavailable);
  STRCMP_EQUAL("gnuplot is not installed", result.status().message().c_str());
}

TEST(Result, GivesAwayAMoveOnlyValue) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = std::move(result).value();
  LONGS_EQUAL(7, *taken);
}

}  // namespace weft
