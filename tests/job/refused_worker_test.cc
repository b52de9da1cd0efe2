// SPDX-License-Identifier: Apache-2.0
// What a job says no to today it may say yes to tomorrow: the program ends with exit code 1, upon
// which a service tries again, and not with 2, upon which it stays down.
#include <memory>

#include "apps/job/job_model.h"
#include "core/model/zoo.h"
#include "tests/edge/child_process.h"
#include "tests/files/scratch_folder.h"
#include "tests/job/lenet_job.h"
#include "tests/mqtt/broker.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {

TEST_GROUP(RefusedWorker){};

TEST(RefusedWorker, AReplacementGetsInOnceTheOneItReplacesIsGone) {
  ScratchFolder folder;
  net::Broker broker;
  LenetJob job{.workers = 1, .rounds = 200};
  ChildProcess server(
      PsCommand(job.PsArguments(broker.port(), folder.Path("state"), {"--max-workers", "1"})));
  ChildProcess worker(EdgeCommand(job.EdgeArguments(broker.port(), 0)));
  CHECK_TRUE(server.NextLine().has_value());  // a round is done
  const LenetJob of_two{.workers = 2};        // shares of the data
  const auto replacement = [&] {
    return ChildProcess(EdgeCommand(of_two.EdgeArguments(broker.port(), 1))).Wait();
  };
  LONGS_EQUAL(1, replacement());
  CHECK_TRUE(worker.Kill());
  int exit_code = 1;
  for (int tries = 0; tries < 20 && exit_code == 1; ++tries) exit_code = replacement();
  LONGS_EQUAL(0, exit_code);
  LONGS_EQUAL(0, server.Wait());
}

TEST(RefusedWorker, AnotherModelOrVersionThanTheServersMayBeMended) {
  net::Welcome job{.model = "lenet5", .input = {1, 28, 28}, .classes = 10};
  job.model_hash =
      ArchitectureHash(*model::BuildModel(job.model, {.classes = 10, .input = {1, 28, 28}}));
  CHECK(BuildJobModel(job).ok());
  net::Welcome of_another_version = job;
  of_another_version.model_hash[0] ^= std::byte{1};
  CHECK(BuildJobModel(of_another_version).status().code() == StatusCode::kUnavailable);
  net::Welcome of_a_later_one = job;
  of_a_later_one.model = "lenet6";
  CHECK(BuildJobModel(of_a_later_one).status().code() == StatusCode::kUnavailable);
}

}  // namespace weft::apps
