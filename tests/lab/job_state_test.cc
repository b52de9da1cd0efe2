// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/job_state.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {

TEST_GROUP(JobState){};

TEST(JobState, AWorkerAddsUpItsBytesAndSmoothsTheRest) {
  WorkerState worker;
  worker.Hear(WorkerRound{.round = 1, .loss = 2.0, .bytes_up = 100});
  worker.Hear(WorkerRound{.round = 2, .loss = 1.0, .bytes_up = 150});
  LONGLONGS_EQUAL(2, worker.round);
  LONGLONGS_EQUAL(250, *worker.bytes_up);
  DOUBLES_EQUAL(0.8 * 2 + 0.2 * 1, *worker.loss.value(), 1e-12);
  CHECK_FALSE(worker.bytes_down || worker.waiting.value());
}

TEST(JobState, TheBrokersLogTellsWhoIsConnected) {
  BrokerState broker;
  broker.Hear("mosquitto version 2.0.11 starting");
  CHECK_FALSE(broker.running);
  broker.Hear("mosquitto version 2.0.11 running");
  CHECK_TRUE(broker.running);
  broker.Hear("New connection from 127.0.0.1:41728 on port 1883.");
  LONGS_EQUAL(0, broker.clients.size());
  broker.Hear("New client connected from 127.0.0.1:41728 as w1 (p5, c1, k10, u'w1').");
  broker.Hear("New client connected from 127.0.0.1:41729 as ps (p5, c1, k10, u'ps').");
  broker.Hear("Client w1 already connected, closing old connection.");
  LONGS_EQUAL(2, broker.clients.size());
  broker.Hear("Client w1 disconnected.");
  broker.Hear("Client ps closed its connection.");
  LONGS_EQUAL(0, broker.clients.size());
}

TEST(JobState, ARoundIsDoneWhenEveryServerHasDoneIt) {
  JobState state;
  LONGLONGS_EQUAL(0, state.rounds_done());
  state.servers.resize(2);
  state.servers[0].Hear(ServerRound{.round = 4, .bytes_taken = 10, .disk_wait_ns = 7});
  state.servers[1].Hear(ServerRound{.round = 3, .bytes_taken = 20});
  LONGLONGS_EQUAL(3, state.rounds_done());
  state.servers[0].Hear(ServerRound{.round = 5, .bytes_taken = 10, .disk_wait_ns = 8});
  LONGLONGS_EQUAL(20, state.servers[0].bytes_taken);
  LONGLONGS_EQUAL(15, state.servers[0].disk_wait_ns);
}

TEST(JobState, ItIsDoneWithTheLastWordOfTheLast) {
  JobState state;
  state.servers.resize(1);
  state.workers.resize(2);
  state.workers[0].Hear(WorkerEnd{.model_hash = "ab"});
  CHECK_FALSE(state.served());
  state.servers[0].Hear(ServerEnd{.model_hash = "ab"});
  CHECK_TRUE(state.served());
  CHECK_FALSE(state.done());
  state.workers[1].Hear(WorkerEnd{.model_hash = "ab"});
  CHECK_TRUE(state.done());
}

TEST(JobState, LossIsAMeanAndTheImagesASum) {
  JobState state;
  state.workers.resize(3);
  CHECK_FALSE(state.loss() || state.images_per_s());
  state.workers[0].Hear(WorkerRound{.round = 1, .loss = 2.0, .images_per_s = 10});
  state.workers[2].Hear(WorkerRound{.round = 1, .loss = 1.0, .images_per_s = 20});
  DOUBLES_EQUAL(1.5, *state.loss(), 1e-12);
  DOUBLES_EQUAL(30, *state.images_per_s(), 1e-12);
}

}  // namespace weft::apps
