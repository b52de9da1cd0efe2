// SPDX-License-Identifier: Apache-2.0
// A worker that dies and comes back while what it had sent is on its way to the disk.
#include "cloud_ps/server.h"
#include "tests/ps/server_driver.h"

#include <CppUTest/TestHarness.h>

namespace weft::ps {
namespace {

// Acknowledges what it was sent, and wants the next version in two parts.
void Take(ServerDriver& driver, const std::string& worker, int64_t round, uint64_t incarnation) {
  net::Ack ack;
  for (const auto& segment : driver.HeardOf<net::Segment>(worker)) {
    ack.ticket = segment.ticket;
    ack.sequences.push_back(segment.sequence);
  }
  const net::Header header = driver.HeaderOf(worker, round, incarnation);
  driver.Say(worker, net::Lane::kControl, {header, ack});
  driver.Say(worker, net::Lane::kControl, {header, net::Plan{.ticket = ack.ticket, .ends = {4}}});
}

int SegmentsOfRound(ServerDriver& driver, const std::string& worker, int64_t round) {
  int count = 0;
  for (const net::Message& message : driver.Heard(worker)) {
    if (std::holds_alternative<net::Segment>(message.body) && message.header.round == round) {
      ++count;
    }
  }
  return count;
}

}  // namespace

TEST_GROUP(ServerRejoin){};

// Of the last round nothing is let out before it is kept. A slice that was closed with the
// gradients of a worker's earlier life may be kept only when the worker is back, and has to compute
// the round once more for the other slices: it must not take the round for over.
TEST(ServerRejoin, WhoHasToComputeTheLastRoundAnewSeesNothingOfTheVersionAfterIt) {
  ServerSetting setting = ServerDriver::Usual();
  setting.slice_floats = 4;
  ServerDriver driver(setting);
  driver.Join("w1");
  for (int64_t round = 0; round < 4; ++round) driver.Push("w1", round);
  driver.Pass(100 * kNsPerMs);
  CHECK_EQUAL(4, driver.server().round());

  driver.keeper.slow = true;
  const std::vector<float> gradients = ServerDriver::Gradients("w1", 4);
  const std::vector<net::Segment> segments = driver.Segments("w1", gradients);
  CHECK(segments.size() > 1);
  driver.PushSegment("w1", 4, segments.front());
  driver.ForgetHeard();
  CHECK_EQUAL(4, driver.Join("w1", 2));
  Take(driver, "w1", 4, 2);
  driver.keeper.slow = false;
  driver.Pass(100 * kNsPerMs);
  const int too_early = SegmentsOfRound(driver, "w1", 5);
  CHECK_EQUAL(0, too_early);

  driver.Push("w1", 4, 2);
  driver.Pass(100 * kNsPerMs);
  CHECK(driver.server().finished());
  CHECK(SegmentsOfRound(driver, "w1", 5) > 0);
}

}  // namespace weft::ps
