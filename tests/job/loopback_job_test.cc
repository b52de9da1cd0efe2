// SPDX-License-Identifier: Apache-2.0
// What job_test.cc shows over a broker, over the loopback net: strategies decide when what travels,
// and never what is summed.
#include "tests/job/loopback_job.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {

TEST_GROUP(LoopbackJob){};

TEST(LoopbackJob, EveryStrategyGetsTheSameModelHoweverManyWorkersAndServers) {
  LenetJob job{.rounds = 8};
  for (const int workers : WEFT_EMULATED ? std::vector{2} : std::vector{1, 2, 4}) {
    job.workers = workers;
    const std::string expected = job.ExpectedHash();
    for (const int shards : WEFT_EMULATED ? std::vector{2} : std::vector{1, 4}) {
      for (const sched::Strategy strategy : sched::JobStrategies()) {
        const std::string name = std::string(sched::Name(strategy)) + ", " +
                                 std::to_string(workers) + " workers, " + std::to_string(shards) +
                                 " servers: ";
        const Result<LoopbackOutcome> outcome = RunOverLoopback(job, strategy, shards);
        if (!outcome.ok()) FAIL((name + outcome.status().message()).c_str());
        for (size_t w = 0; w < static_cast<size_t>(workers); ++w) {
          if (outcome->hashes[w] != expected) FAIL((name + "model " + outcome->hashes[w]).c_str());
          // Weave's are made beside the training and come when they come; two have nothing to plan.
          const bool plans =
              strategy == sched::Strategy::kIbatch || strategy == sched::Strategy::kDynacomm;
          if (plans && outcome->plans[w] == 0) FAIL((name + "no plan was made").c_str());
        }
      }
    }
  }
}

}  // namespace weft::apps
