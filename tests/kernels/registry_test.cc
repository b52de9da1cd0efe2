// SPDX-License-Identifier: Apache-2.0
// The registry among backends that are made up: on a clock that only their kernels move.
#include "kernels/registry.h"

#include <stdexcept>
#include <string>

#include "kernels/ref/backend.h"
#include "tests/op_harness/op_data.h"

#include <CppUTest/TestHarness.h>

namespace weft {
namespace {

class ManualClock final : public Clock {
 public:
  int64_t NowNs() const override { return now; }
  mutable int64_t now = 0;
};

struct Sketch {
  std::string name;
  int64_t ns = 1000;
  int block = 1;
  bool exact = true;
  bool throws_in_run = false;
};

class SketchKernel final : public Kernel {
 public:
  SketchKernel(const Sketch& sketch, ManualClock& clock, int& runs)
      : sketch_(sketch), clock_(clock), runs_(runs) {}
  std::string_view name() const override { return sketch_.name; }
  int src_block() const override { return sketch_.block; }
  int dst_block() const override { return sketch_.block; }
  bool exact() const override { return sketch_.exact; }
  void Run(const KernelArgs&) override {
    ++runs_;
    if (sketch_.throws_in_run) throw std::runtime_error("a vendor library gives up");
    clock_.now += sketch_.ns;
  }

 private:
  const Sketch sketch_;
  ManualClock& clock_;
  int& runs_;
};

class SketchBackend final : public Backend {
 public:
  SketchBackend(std::vector<Sketch> sketches, ManualClock& clock)
      : sketches_(std::move(sketches)), clock_(clock) {}
  std::string_view name() const override { return "sketch"; }
  std::vector<std::unique_ptr<Kernel>> Offer(const OpSpec&, Role) override {
    if (throws_in_offer) throw std::runtime_error("a vendor library gives up");
    std::vector<std::unique_ptr<Kernel>> offers;
    for (const Sketch& sketch : sketches_) {
      offers.push_back(std::make_unique<SketchKernel>(sketch, clock_, runs));
    }
    return offers;
  }
  bool throws_in_offer = false;
  int runs = 0;

 private:
  const std::vector<Sketch> sketches_;
  ManualClock& clock_;
};

OpSpec SomeConvolution() {
  return harness::MakeOp(model::Conv2d{.out_channels = 8, .kernel = 3, .padding = 1},
                         {Shape{1, 8, 4, 4}}, Activation::kNone);
}

}  // namespace

TEST_GROUP(Registry) {
  ManualClock clock;
  Serial serial;
  ref::RefBackend ref{serial};

  std::string Chosen(SketchBackend & backend, const Registry::Options& options = {}) {
    Registry registry({&backend, &ref}, clock, options);
    return std::string(registry.Choose(SomeConvolution(), true, true).forward->name());
  }
};

TEST(Registry, TakesTheFastest) {
  SketchBackend backend({{"slow", 3000}, {"fast", 1000}, {"medium", 2000}}, clock);
  STRCMP_EQUAL("fast", Chosen(backend).c_str());
}

TEST(Registry, LeavesOutKernelsThatAreNotExactWhereAsked) {
  SketchBackend backend({{"slow", 3000}, {.name = "fast", .ns = 1000, .exact = false}}, clock);
  STRCMP_EQUAL("fast", Chosen(backend).c_str());
  STRCMP_EQUAL("slow", Chosen(backend, {.exact = true}).c_str());
}

TEST(Registry, TakesTheFirstOfferWhereNothingIsMeasured) {
  SketchBackend backend({{"slow", 3000}, {"fast", 1000}}, clock);
  STRCMP_EQUAL("slow", Chosen(backend, {.measure = false}).c_str());
  LONGS_EQUAL(0, backend.runs);
}

TEST(Registry, TakesTheFirstOfferWhereTimingWouldTakeTooMuchMemory) {
  SketchBackend backend({{"slow", 3000}, {"fast", 1000}}, clock);
  Registry registry({&backend, &ref}, clock, {});
  // Source, result, weights and biases with their gradients, as floats.
  constexpr size_t kBytes = 2 * sizeof(float) * (8 * 16 + 8 * 16 + 8 * 8 * 9 + 8);
  registry.LimitTiming(kBytes - 1);
  STRCMP_EQUAL("slow", registry.Choose(SomeConvolution(), true, true).forward->name().data());
  LONGS_EQUAL(0, backend.runs);
  registry.LimitTiming(kBytes);
  STRCMP_EQUAL("fast", registry.Choose(SomeConvolution(), true, true).forward->name().data());
  // What is known already needs no memory.
  registry.LimitTiming(1);
  STRCMP_EQUAL("fast", registry.Choose(SomeConvolution(), true, true).forward->name().data());
}

TEST(Registry, FallsToTheNextBackendIfOneThrowsWhenAsked) {
  SketchBackend backend({{"fast", 1000}}, clock);
  backend.throws_in_offer = true;
  STRCMP_EQUAL("ref", Chosen(backend).c_str());
}

TEST(Registry, PassesOverKernelsThatThrowWhenTimed) {
  SketchBackend backend({{.name = "broken", .ns = 10, .throws_in_run = true}, {"works", 1000}},
                        clock);
  STRCMP_EQUAL("works", Chosen(backend).c_str());
}

TEST(Registry, CountsWhatBringingActivationsIntoAnotherBlockCosts) {
  // One microsecond faster, but the activations would have to be brought over and back.
  SketchBackend backend({{"plain", 10'000, 1}, {.name = "blocked", .ns = 9'990, .block = 4}},
                        clock);
  STRCMP_EQUAL("plain", Chosen(backend).c_str());
}

TEST(Registry, RemembersTimesThroughText) {
  SketchBackend backend({{"slow", 3000}, {"fast", 1000}}, clock);
  Registry first({&backend, &ref}, clock, {});
  first.Choose(SomeConvolution(), true, true);
  const int runs = backend.runs;
  CHECK_TRUE(runs > 0);
  Registry second({&backend, &ref}, clock, {});
  second.LearnTimes("no line\n12\n-5 x\n" + first.TimesText());
  STRCMP_EQUAL("fast",
               std::string(second.Choose(SomeConvolution(), true, true).forward->name()).c_str());
  LONGS_EQUAL(runs, backend.runs);
  // Times taken with other threads say nothing.
  Registry third({&backend, &ref}, clock, {.threads = 4});
  third.LearnTimes(first.TimesText());
  third.Choose(SomeConvolution(), true, true);
  CHECK_TRUE(backend.runs > runs);
}

TEST(Registry, ListsEveryKernelTheFastestFirst) {
  SketchBackend backend({{"slow", 3'000'000'000}, {"fast", 1000}}, clock);
  Registry registry({&backend, &ref}, clock, {});
  const auto timed = registry.TimeAll(SomeConvolution(), Role::kForward);
  LONGS_EQUAL(3, timed.size());
  STRCMP_EQUAL("ref", timed[0].name.c_str());  // it does not move this clock
  STRCMP_EQUAL("fast", timed[1].name.c_str());
  LONGLONGS_EQUAL(1000, timed[1].ns);
}

}  // namespace weft
