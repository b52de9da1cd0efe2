// SPDX-License-Identifier: Apache-2.0
#include "net/link/link_script.h"

#include <string>

#include <CppUTest/TestHarness.h>

namespace weft::net {

namespace {

std::vector<LinkChange> Read(const std::string& text) {
  const Result<std::vector<LinkChange>> changes = ParseLinkScript(text);
  if (!changes.ok()) FAIL(changes.status().message().c_str());
  return *changes;
}

// One sentence, with that in it.
void Refuses(const std::string& text, const std::string& why) {
  const Result<std::vector<LinkChange>> changes = ParseLinkScript(text);
  CHECK_TEXT(!changes.ok(), text.c_str());
  CHECK(changes.status().code() == StatusCode::kInvalidInput);
  STRCMP_CONTAINS(why.c_str(), changes.status().message().c_str());
  CHECK(changes.status().message().find('\n') == std::string::npos);
}

}  // namespace

TEST_GROUP(LinkScript){};

TEST(LinkScript, ReadsWhatChangesWhenAndWhichWay) {
  const std::vector<LinkChange> changes = Read(
      "# a train enters a tunnel\n"
      "\n"
      "at 0 both mbps=20\n"
      "  at 2.5\tup mbps=0.5 rtt-ms=60 jitter-ms=2 loss=1.5 queue-kb=32 # and worse\r\n"
      "at 2.5 down loss=100");
  LONGS_EQUAL(3, changes.size());
  CHECK(changes[0].up && changes[0].down);
  LONGLONGS_EQUAL(0, changes[0].at_ns);
  LONGLONGS_EQUAL(20'000'000, *changes[0].rate_bps);
  CHECK(!changes[0].delay_ns && !changes[0].jitter_ns && !changes[0].loss);
  CHECK(changes[1].up && !changes[1].down);
  LONGLONGS_EQUAL(2'500'000'000, changes[1].at_ns);
  LONGLONGS_EQUAL(500'000, *changes[1].rate_bps);
  LONGLONGS_EQUAL(30'000'000, *changes[1].delay_ns);
  LONGLONGS_EQUAL(2'000'000, *changes[1].jitter_ns);
  DOUBLES_EQUAL(0.015, *changes[1].loss, 1e-12);
  LONGLONGS_EQUAL(32'768, *changes[1].queue_bytes);
  CHECK(!changes[2].up && changes[2].down);
  DOUBLES_EQUAL(1, *changes[2].loss, 0);
}

TEST(LinkScript, NothingIsAScriptToo) {
  LONGS_EQUAL(0, Read("").size());
  LONGS_EQUAL(0, Read("\n  \n# only words").size());
}

TEST(LinkScript, WhatIsNotNamedStays) {
  const LinkSetting before = {
      .rate_bps = 1'000'000, .delay_ns = 3, .jitter_ns = 4, .loss = 0.5, .queue_bytes = 6};
  const LinkSetting after = Changed(before, Read("at 1 up mbps=2")[0]);
  LONGLONGS_EQUAL(2'000'000, after.rate_bps);
  LONGLONGS_EQUAL(3, after.delay_ns);
  LONGLONGS_EQUAL(4, after.jitter_ns);
  DOUBLES_EQUAL(0.5, after.loss, 0);
  LONGLONGS_EQUAL(6, after.queue_bytes);
  // 0 is a value: no limit, no loss, the default queue.
  const LinkSetting none = Changed(before, Read("at 1 up mbps=0 loss=0 queue-kb=0")[0]);
  LONGLONGS_EQUAL(0, none.rate_bps);
  DOUBLES_EQUAL(0, none.loss, 0);
  LONGLONGS_EQUAL(0, none.queue_bytes);
}

TEST(LinkScript, ABadLineIsNamedWithWhatIsWrong) {
  Refuses("at 1 up mbps=1\n\nat x up mbps=1", "line 3: 'x' is no number of seconds");
  Refuses("at -1 up mbps=1", "line 1: '-1' is no number of seconds");
  Refuses("at inf up mbps=1", "'inf' is no number of seconds");
  Refuses("at 1 sideways mbps=1", "line 1: 'sideways' is not up, down or both");
  Refuses("at 1 up", "line 1: a change is written as");
  Refuses("on 1 up mbps=1", "line 1: a change is written as");
  Refuses("at 1 up mpbs=1", "line 1: 'mpbs=1' is not mbps=");
  Refuses("at 1 up mbps", "line 1: 'mbps' is not mbps=");
  Refuses("at 1 up mbps=", "line 1: 'mbps=' has no number");
  Refuses("at 1 up mbps=1x", "line 1: 'mbps=1x' has no number");
  Refuses("at 1 up mbps=nan", "line 1: 'mbps=nan' has no number");
  Refuses("at 1 up mbps=0.0001", "line 1: a rate in Mb/s is 0.001 to 100000");
  Refuses("at 1 up mbps=-5", "a rate in Mb/s");
  Refuses("at 1 up rtt-ms=120001", "a delay in ms");
  Refuses("at 1 up jitter-ms=-1", "a delay in ms");
  Refuses("at 1 up loss=101", "a loss in percent is 0 to 100");
  Refuses("at 1 up queue-kb=262145", "a queue in KB");
  Refuses("at 2 up mbps=1\nat 1 up mbps=1", "line 2: 1 s is earlier than the change before it");
}

}  // namespace weft::net
