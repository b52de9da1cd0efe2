// SPDX-License-Identifier: Apache-2.0
// Kernels that break the contract, each in its own way: the harness must tell on all of them.
#include "tests/op_harness/op_compare.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "kernels/ref/backend.h"
#include "tests/op_harness/gradient_check.h"

#include <CppUTest/TestHarness.h>

namespace weft::harness {
namespace {

constexpr Tolerance kOneMillionth = {.exact = 1e-6, .inexact = 1e-6};

// A kernel that is whatever a test says it is.
struct Sketch {
  std::function<void(const KernelArgs&)> run;
  int block = 1;
  size_t scratch_bytes = 0;
  size_t own_bytes = 0;
  std::string saved_format = "";
  bool reads_dst = false;
  bool in_place = false;
};

class SketchedKernel final : public Kernel {
 public:
  explicit SketchedKernel(Sketch sketch) : sketch_(std::move(sketch)) {}

  std::string_view name() const override { return "sketch"; }
  int src_block() const override { return sketch_.block; }
  int dst_block() const override { return sketch_.block; }
  size_t scratch_bytes() const override { return sketch_.scratch_bytes; }
  size_t own_bytes() const override { return sketch_.own_bytes; }
  std::string_view saved_format() const override { return sketch_.saved_format; }
  bool reads_dst() const override { return sketch_.reads_dst; }
  bool in_place() const override { return sketch_.in_place; }
  void Run(const KernelArgs& args) override { sketch_.run(args); }

 private:
  const Sketch sketch_;
};

// Offers the one kernel in its one role.
class SketchedBackend final : public Backend {
 public:
  SketchedBackend(Role role, Sketch sketch) : role_(role), sketch_(std::move(sketch)) {}

  std::string_view name() const override { return "sketch"; }
  std::vector<std::unique_ptr<Kernel>> Offer(const OpSpec&, Role role) override {
    std::vector<std::unique_ptr<Kernel>> offer;
    if (role == role_) offer.push_back(std::make_unique<SketchedKernel>(sketch_));
    return offer;
  }

 private:
  const Role role_;
  const Sketch sketch_;
};

const OpSpec& ReluOp() {
  static const OpSpec op = MakeOp(model::Relu{}, {Shape{1, 3, 2, 2}});
  return op;
}

constexpr int64_t kCount = 12;  // its values

void RightRelu(const KernelArgs& args) {
  for (int64_t i = 0; i < kCount; ++i) args.dst[i] = std::max(args.srcs[0][i], 0.0f);
}

std::string Verdict(const OpSpec& op, Role role, Sketch sketch) {
  SketchedBackend backend(role, std::move(sketch));
  return CompareWithRef(op, backend, kOneMillionth);
}

std::string VerdictOnRelu(Sketch sketch) {
  return Verdict(ReluOp(), Role::kForward, std::move(sketch));
}

}  // namespace

#define CHECK_TELLS(expected, verdict)                                       \
  do {                                                                       \
    const std::string told = verdict;                                        \
    CHECK_TRUE_TEXT(told.find(expected) != std::string::npos, told.c_str()); \
  } while (false)

TEST_GROUP(OpHarness){};

TEST(OpHarness, PassesAKernelThatIsRight) {
  SketchedBackend backend(Role::kForward, {.run = RightRelu});
  int compared = 0;
  STRCMP_EQUAL("",
               CompareWithRef(ReluOp(), backend, kOneMillionth, Fill::kUniform, &compared).c_str());
  LONGS_EQUAL(1, compared);
}

TEST(OpHarness, NamesTheOpTheKernelAndTheFault) {
  const std::string verdict = VerdictOnRelu({.run = [](const KernelArgs& args) {
    RightRelu(args);
    args.dst[3] += 1;
  }});
  CHECK_TELLS("relu: [1, 3, 2, 2] -> [1, 3, 2, 2]: sketch forward is off by 0.", verdict);
}

TEST(OpHarness, TellsWhatIsLeftUnwritten) {
  CHECK_TELLS("leaves NaN at 11 of dst", VerdictOnRelu({.run = [](const KernelArgs& args) {
                for (int64_t i = 0; i < kCount - 1; ++i) {
                  args.dst[i] = std::max(args.srcs[0][i], 0.0f);
                }
              }}));
}

TEST(OpHarness, TellsOfWritingPastTheEnds) {
  for (int64_t place : {int64_t{-1}, kCount}) {
    CHECK_TELLS("writes outside of dst", VerdictOnRelu({.run = [place](const KernelArgs& args) {
                  RightRelu(args);
                  args.dst[place] = 0;
                }}));
  }
  CHECK_TELLS("writes outside of scratch", VerdictOnRelu({.run =
                                                              [](const KernelArgs& args) {
                                                                RightRelu(args);
                                                                args.scratch[8] = std::byte{0};
                                                              },
                                                          .scratch_bytes = 8}));
}

TEST(OpHarness, TellsOfChangedInputs) {
  CHECK_TELLS("changes src", VerdictOnRelu({.run = [](const KernelArgs& args) {
                RightRelu(args);
                const_cast<float*>(args.srcs[0])[0] += 1;
              }}));
}

TEST(OpHarness, TellsOfScratchThatIsReadBeforeItIsWritten) {
  CHECK_TELLS("made of memory that nobody wrote",
              VerdictOnRelu({.run =
                                 [](const KernelArgs& args) {
                                   RightRelu(args);
                                   args.dst[0] += *reinterpret_cast<float*>(args.scratch);
                                 },
                             .scratch_bytes = sizeof(float)}));
}

TEST(OpHarness, TellsOfFillingChannelsThatAreNotZero) {
  // Three channels in blocks of two: every value, then the fourth channel that is none.
  const auto relu = [](const KernelArgs& args, float filler) {
    for (int64_t i = 0; i < 16; ++i) {
      const bool fills = i >= 8 && i % 2 == 1;
      args.dst[i] = fills ? filler : std::max(args.srcs[0][i], 0.0f);
    }
  };
  STRCMP_EQUAL(
      "",
      VerdictOnRelu({.run = [&](const KernelArgs& args) { relu(args, 0); }, .block = 2}).c_str());
  CHECK_TELLS("filling channels of dst",
              VerdictOnRelu({.run = [&](const KernelArgs& args) { relu(args, 1); }, .block = 2}));
}

TEST(OpHarness, TellsOfReadingWhatIsOverwrittenInPlace) {
  CHECK_TELLS("other bits in place", VerdictOnRelu({.run =
                                                        [](const KernelArgs& args) {
                                                          std::fill_n(args.dst, kCount, 0.0f);
                                                          RightRelu(args);
                                                        },
                                                    .in_place = true}));
}

TEST(OpHarness, TellsOfResultsThatDependOnTheCall) {
  float noise = 0;
  CHECK_TELLS("other bits when run again", VerdictOnRelu({.run = [&noise](const KernelArgs& args) {
                RightRelu(args);
                noise += 1e-7f;
                args.dst[0] += noise;
              }}));
}

TEST(OpHarness, TellsOfParametersThatAKernelKeptTooLong) {
  const OpSpec op = MakeOp(model::Linear{.out_features = 1, .bias = false}, {Shape{1, 2}});
  const auto dot = [](const KernelArgs& args, bool refreshes) {
    auto* kept = reinterpret_cast<float*>(args.own);  // two weights and the version they are of
    if (kept[2] == 0 || refreshes) {
      std::copy_n(args.params[0], 2, kept);
      kept[2] = 1;
    }
    args.dst[0] = kept[0] * args.srcs[0][0] + kept[1] * args.srcs[0][1];
  };
  const auto verdict = [&](bool refreshes) {
    return Verdict(op, Role::kForward,
                   {.run = [&](const KernelArgs& args) { dot(args, refreshes); },
                    .own_bytes = 3 * sizeof(float)});
  };
  STRCMP_EQUAL("", verdict(true).c_str());
  CHECK_TELLS("is off by", verdict(false));
}

TEST(OpHarness, TellsOfABackwardThatReadsANoteNobodyLeaves) {
  CHECK_TELLS("reads a note that no forward kernel leaves",
              Verdict(ReluOp(), Role::kBackwardData,
                      {.run = [](const KernelArgs&) {}, .saved_format = "mask"}));
}

TEST(OpHarness, RunsABackwardKernelAfterTheForwardOfRef) {
  const auto backward = [](float at_zero) {
    return [at_zero](const KernelArgs& args) {
      for (int64_t i = 0; i < kCount; ++i) {
        args.d_srcs[0][i] = args.dst[i] > 0 ? args.d_dst[i] : at_zero;
      }
    };
  };
  const auto verdict = [&](float at_zero) {
    return Verdict(ReluOp(), Role::kBackwardData,
                   {.run = backward(at_zero), .reads_dst = true, .in_place = true});
  };
  STRCMP_EQUAL("", verdict(0).c_str());
  CHECK_TELLS("backward data is off by", verdict(1));
}

TEST(OpHarness, MeasuresErrorsAgainstTheLargestValueWanted) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> want = {1, -4, 0};
  DOUBLES_EQUAL(0, RelativeError(want, want), 0);
  DOUBLES_EQUAL(0.25, RelativeError(std::vector<float>{1, -4, 1}, want), 0);
  CHECK(std::isinf(RelativeError(std::vector<float>{1, -4}, want)));
  CHECK(std::isinf(RelativeError(std::vector<float>{1, -4, nan}, want)));
  DOUBLES_EQUAL(0, RelativeError(std::vector<float>{nan}, std::vector<float>{nan}), 0);
}

TEST(OpHarness, DoesNotAskForASlopeAtAKink) {
  Serial serial;
  ref::RefBackend backend(serial);
  const OpSpec op = MakeOp(model::Relu{}, {Shape{2, 4, 5, 4}});
  const std::vector<float> src = MakeData(op, Fill::kGrid).srcs[0];
  CHECK(std::count(src.begin(), src.end(), 0.0f) > 0);
  STRCMP_EQUAL("", CheckGradients(op, backend, Fill::kGrid).c_str());
}

// Right, but for a gradient that is half a percent too large.
TEST(OpHarness, TellsOfAGradientThatIsNotTheSlope) {
  class Exaggerating final : public Backend {
   public:
    std::string_view name() const override { return "exaggerating"; }
    std::vector<std::unique_ptr<Kernel>> Offer(const OpSpec&, Role role) override {
      std::vector<std::unique_ptr<Kernel>> offer;
      if (role == Role::kForward) {
        offer.push_back(std::make_unique<SketchedKernel>(Sketch{.run = RightRelu}));
      } else if (role == Role::kBackwardData) {
        const auto backward = [](const KernelArgs& args) {
          for (int64_t i = 0; i < kCount; ++i) {
            args.d_srcs[0][i] = args.dst[i] > 0 ? 1.005f * args.d_dst[i] : 0;
          }
        };
        offer.push_back(
            std::make_unique<SketchedKernel>(Sketch{.run = backward, .reads_dst = true}));
      }
      return offer;
    }
  };
  Exaggerating backend;
  CHECK_TELLS("of src 0 is", CheckGradients(ReluOp(), backend, Fill::kSpread));
}

}  // namespace weft::harness
