// SPDX-License-Identifier: Apache-2.0
// `weft-edge board --measure` on boards whose models take as long as a test says: it ends in time,
// and what was found is told whatever happens to the rest.
#include "apps/weft_edge/board_speed.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/model/zoo.h"
#include "core/rng.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

constexpr double kSecond = 1e9;

class HandClock final : public Clock {
 public:
  int64_t NowNs() const override { return now_ns; }
  int64_t now_ns = 0;
};

// A board on which an image of a model takes its own time, and nothing is computed.
struct SlowBoard {
  HandClock clock;
  std::atomic<bool> stop = false;
  std::map<std::string, double> image_ns;
  std::string broken;   // this one fails in its first step
  int stop_after = -1;  // steps

  class Trial final : public SpeedTrial {
   public:
    Trial(SlowBoard& board, double step_ns, bool broken)
        : board_(board), step_ns_(step_ns), broken_(broken) {}
    Status Step() override {
      board_.clock.now_ns += static_cast<int64_t>(step_ns_);
      if (--board_.stop_after == 0) board_.stop = true;
      return broken_ ? Status::Unavailable("it broke") : Status::Ok();
    }

   private:
    SlowBoard& board_;
    const double step_ns_;
    const bool broken_;
  };

  MakeTrial Trials() {
    return [this](const std::string& model, int batch) -> Result<std::unique_ptr<SpeedTrial>> {
      return std::unique_ptr<SpeedTrial>(
          std::make_unique<Trial>(*this, image_ns.at(model) * batch, model == broken));
    };
  }
};

}  // namespace

TEST_GROUP(EdgeBoardSpeed) {
  SlowBoard board;
  BoardReport report;

  // The whole zoo in batches of 32, at so many nanoseconds for a multiply-add.
  void FillWith(double ns_per_work) {
    for (const model::ZooEntry& entry : model::Zoo()) {
      const std::string name(entry.name);
      report.models.push_back({name, Fit{.batch = 32}});
      board.image_ns[name] =
          ns_per_work * static_cast<double>(model::BuildModel(entry.name)->macs());
    }
  }

  void Measure(double seconds) {
    MeasureSpeeds(report, static_cast<int64_t>(kSecond * seconds), board.clock, board.stop,
                  board.Trials());
  }

  const BoardModel& Model(const std::string& name) const {
    return *std::find_if(report.models.begin(), report.models.end(),
                         [&](const auto& model) { return model.name == name; });
  }
  long Measured() const {
    return std::count_if(report.models.begin(), report.models.end(),
                         [](const auto& model) { return model.speed.has_value(); });
  }
};

TEST(EdgeBoardSpeed, AQuickBoardMeasuresAllAndAllInTime) {
  FillWith(0.001);
  Measure(120);
  LONGS_EQUAL(14, Measured());
  CHECK_TRUE(board.clock.now_ns <= 120 * kSecond);
  LONGS_EQUAL(32, Model("vgg19").speed->batch);
  DOUBLES_EQUAL(kSecond / board.image_ns["vgg19"], Model("vgg19").speed->images_per_s, 0.001);
}

TEST(EdgeBoardSpeed, WhateverAModelTakesTheTimeIsKept) {
  // From boards that take a second for vgg19's image to those that take ten minutes, with models
  // that are up to six times slower or quicker for their work than the one before.
  Rng rng(3);
  for (int turn = 0; turn < 120; ++turn) {
    report.models.clear();
    board.clock.now_ns = 0;
    FillWith(0.05 * static_cast<double>(1 << rng.Between(0, 9)));
    std::vector<std::pair<double, double*>> by_work;
    for (auto& [name, ns] : board.image_ns) by_work.emplace_back(ns, &ns);
    std::sort(by_work.begin(), by_work.end());
    for (auto& [ns, own] : by_work) *own *= 1 + 5 * rng.Fraction();
    Measure(120);
    CHECK_TRUE(board.clock.now_ns <= 120 * kSecond);
    CHECK_TRUE(Measured() >= 1);
    for (const BoardModel& model : report.models) {
      CHECK_TRUE_TEXT(model.speed.has_value() == model.no_speed.empty(), model.name.c_str());
    }
  }
}

TEST(EdgeBoardSpeed, AModelThatIsFarSlowerThanItsWorkSaysIsTriedWithOneImageAndNoMore) {
  FillWith(0.1);
  board.image_ns["mobilenet_v2"] *= 100;  // 3 s an image, where 32 were expected to take one
  Measure(120);
  CHECK_TRUE(board.clock.now_ns <= 120 * kSecond);
  CHECK_TRUE(Model("mobilenet_v2").speed->batch <= 2);
  CHECK_TRUE(Model("resnet18").speed.has_value() || !Model("resnet18").no_speed.empty());
}

TEST(EdgeBoardSpeed, AModelThatFailsSaysWhyAndTheOthersAreMeasured) {
  FillWith(0.01);
  board.broken = "mobilenet_v2";
  Measure(120);
  LONGS_EQUAL(13, Measured());
  STRCMP_EQUAL("it broke", Model("mobilenet_v2").no_speed.c_str());
  report.board = FindBoard("rpi3", "").value();
  STRCMP_CONTAINS("- (it broke)", BoardText(report).c_str());
  LONGS_EQUAL(14, BoardJson(report)["models"].size());
}

TEST(EdgeBoardSpeed, WhoIsStoppedInAFirstStepTellsWhatIsKnownByThen) {
  FillWith(0.1);
  Measure(120);
  const long all = Measured();
  report.models.clear();
  FillWith(0.1);
  board.clock.now_ns = 0;
  board.stop_after = 40;
  Measure(120);
  CHECK_TRUE(Measured() >= 1);
  CHECK_TRUE(Measured() < all);
  STRCMP_EQUAL("stopped", Model("vgg19").no_speed.c_str());
}

}  // namespace weft::apps
