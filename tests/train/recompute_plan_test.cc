// SPDX-License-Identifier: Apache-2.0
#include "core/train/recompute_plan.h"

#include <algorithm>
#include <set>
#include <string>

#include "core/model/zoo.h"

#include <CppUTest/TestHarness.h>

namespace weft::train {
namespace {

Program ProgramOf(const char* model) {
  return LowerGraph(model::BuildModel(model).value(), 1, true);
}

// As if kernels read what the layers' definitions read: convolutions their source, batch norms
// theirs, activations their result.
RecomputeFacts FactsOf(const Program& program) {
  RecomputeFacts facts;
  for (const Value& value : program.values) {
    facts.value_bytes.push_back(static_cast<size_t>(value.shape.elements()) * sizeof(float));
    bool read = value.producer >= 0 &&
                program.ops[value.producer].spec.activation != Activation::kNone &&
                !std::holds_alternative<model::BatchNorm>(program.ops[value.producer].spec.layer);
    for (OpId id : value.consumers) {
      const model::Layer& layer = program.ops[id].spec.layer;
      read = read || model::IsWeighted(layer) || std::holds_alternative<model::BatchNorm>(layer);
    }
    facts.is_read_backward.push_back(read);
  }
  facts.scratch_bytes.assign(program.ops.size(), 0);
  return facts;
}

double WorkOf(const Program& program, const KeepingPlan& plan) {
  double work = 0;
  for (const Op& op : program.ops) {
    if (plan[op.dst] != Keeping::kKept && !IsCheap(op)) work += ForwardWork(op);
  }
  return work;
}

}  // namespace

TEST_GROUP(RecomputePlan){};

TEST(RecomputePlan, CutsWhereOneValueLeadsOn) {
  for (const char* model : {"lenet5", "resnet50", "googlenet", "inception_v4", "squeezenet1_1"}) {
    const Program program = ProgramOf(model);
    const std::vector<OpId> cuts = Cuts(program);
    LONGS_EQUAL(-1, cuts.front());
    // By looking at every value that crosses from an op or before to later ones.
    for (OpId id = 0; id < static_cast<OpId>(program.ops.size()); ++id) {
      std::set<ValueId> crossing;
      for (ValueId v = 0; v < static_cast<ValueId>(program.values.size()); ++v) {
        const Value& value = program.values[v];
        if (value.producer > id) continue;
        for (OpId reader : value.consumers) {
          if (reader > id) crossing.insert(v);
        }
      }
      crossing.insert(program.ops[id].dst);
      const bool is_cut = std::find(cuts.begin(), cuts.end(), id) != cuts.end();
      CHECK_EQUAL_TEXT(crossing.size() == 1, is_cut,
                       (model + (" " + program.ops[id].name)).c_str());
    }
  }
}

TEST(RecomputePlan, DropsForFreeOnlyWhatItsSourceGivesBack) {
  const Program program = ProgramOf("resnet18");
  const KeepingPlan plan = DropForFree(program, FactsOf(program));
  int dropped = 0;
  for (const Op& op : program.ops) {
    if (plan[op.dst] == Keeping::kKept) continue;
    CHECK_TRUE(std::holds_alternative<model::BatchNorm>(op.spec.layer));
    CHECK_TRUE(plan[op.srcs[0]] == Keeping::kKept);
    ++dropped;
  }
  LONGS_EQUAL(20, dropped);  // one for each convolution
}

TEST(RecomputePlan, WorksLessTheMoreMemoryThereIs) {
  const Program program = ProgramOf("resnet50");
  const RecomputeFacts facts = FactsOf(program);
  double last_work = -1;
  int plans = 0;
  for (size_t megabytes = 150; megabytes > 5; --megabytes) {
    const auto plan = DropToFit(program, facts, {.bytes = megabytes << 20});
    if (!plan) break;
    const double work = WorkOf(program, *plan);
    CHECK_TRUE(work >= last_work);
    plans += work > last_work;
    last_work = work;
  }
  CHECK_TRUE(plans > 10);
}

TEST(RecomputePlan, KeepsEverythingIfItMay) {
  const Program program = ProgramOf("resnet50");
  const RecomputeFacts facts = FactsOf(program);
  CHECK_TRUE(DropToFit(program, facts, {.bytes = size_t{1} << 30}) == DropForFree(program, facts));
}

TEST(RecomputePlan, SaysSoIfNothingFits) {
  const Program program = ProgramOf("resnet50");
  CHECK_FALSE(DropToFit(program, FactsOf(program), {.bytes = 100'000}).has_value());
}

}  // namespace weft::train
