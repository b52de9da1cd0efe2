// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/job_screen.h"

#include <algorithm>
#include <sstream>

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

JobState Job(int workers) {
  JobState state;
  state.rounds = 500;
  state.broker.pid = 100;
  state.broker.address = "127.0.0.1:1883";
  state.broker.clients = {"ps", "w1"};
  state.broker.memory_bytes = 8'510'000;
  state.servers.resize(1);
  state.servers[0].pid = 101;
  state.servers[0].Hear(ServerRound{.round = 250, .workers = workers, .bytes_taken = 2'000'000});
  for (int i = 0; i < workers; ++i) {
    WorkerState worker;
    worker.name = "w" + std::to_string(i + 1);
    worker.pid = 200 + i;
    worker.starts = 1;
    worker.Hear(WorkerRound{.round = 250,
                            .loss = 0.5,
                            .images_per_s = 1234,
                            .compute_ms = 5,
                            .overlap_ms = 2,
                            .wait_ms = 3,
                            .bytes_up = 2'470'000,
                            .bytes_down = 2'480'000});
    state.workers.push_back(worker);
  }
  return state;
}

std::string All(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

TEST_GROUP(JobScreen) {
  JobState state = Job(2);
  ScreenSetting setting{.title = "a title",
                        .seconds = 12,
                        .training_seconds = 10,
                        .window = {.columns = 112, .rows = 40},
                        .hint = "a hint"};
};

TEST(JobScreen, ShowsServerBrokerWorkersAndProgress) {
  STRCMP_EQUAL(
      "a title\n"
      "\n"
      "server  round 250 of 500, 2 workers, 2.00 MB in, pid 101\n"
      "broker  127.0.0.1:1883, 2 clients, 8.51 MB of memory, pid 100\n"
      "\n"
      "     round    loss  images/s    c/o/w %       up     down       pid"
      "  █ computing ▒ overlapping ░ waiting\n"
      "w1     250  0.5000     1,234   50/20/30  2.47 MB  2.48 MB       200"
      "  ████████████████████▒▒▒▒▒▒▒▒░░░░░░░░░░░░\n"
      "w2     250  0.5000     1,234   50/20/30  2.47 MB  2.48 MB       201"
      "  ████████████████████▒▒▒▒▒▒▒▒░░░░░░░░░░░░\n"
      "\n"
      "██████████████████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  12 s, 10 s left\n"
      "a hint\n",
      All(JobScreen(state, setting)).c_str());
}

TEST(JobScreen, WhatDoesNotFitIsLeftOut) {
  setting.window.columns = 60;
  const std::string narrow = All(JobScreen(state, setting));
  STRCMP_CONTAINS("w1     250  0.5000     1,234   50/20/30  2.47 MB  2.48 MB\n", narrow.c_str());
  CHECK_TRUE(narrow.find("hint") == std::string::npos);  // it is about pids, which are not shown
  setting.window.columns = 40;
  STRCMP_CONTAINS("w1     250  0.5000     1,234   50/20/30\n",
                  All(JobScreen(state, setting)).c_str());
}

TEST(JobScreen, FitsIntoAnyWindow) {
  setting.title = std::string(200, 't');
  for (const bool colour : {false, true}) {
    setting.colour = colour;
    for (int columns = 20; columns < 200; ++columns) {
      setting.window = {.columns = columns, .rows = 24};
      for (const int workers : {1, 64}) {
        const std::vector<std::string> lines = JobScreen(Job(workers), setting);
        CHECK_TRUE(lines.size() < 24);
        for (const std::string& line : lines) {
          CHECK_TRUE(ShownWidth(line) <= columns);
          CHECK_TRUE(line.find('\n') == std::string::npos);
        }
      }
    }
  }
}

TEST(JobScreen, ColoursTakeNoRoomAndAreGoneWithoutThem) {
  const std::vector<std::string> plain = JobScreen(state, setting);
  CHECK_TRUE(All(plain).find('\033') == std::string::npos);
  setting.colour = true;
  const std::vector<std::string> coloured = JobScreen(state, setting);
  CHECK_TRUE(All(coloured).find("\033[32m") != std::string::npos);
  LONGS_EQUAL(plain.size(), coloured.size());
  for (size_t i = 0; i < plain.size(); ++i) {
    LONGS_EQUAL(ShownWidth(plain[i]), ShownWidth(coloured[i]));
  }
}

TEST(JobScreen, TellsWhoCameBack) {
  state.workers[1].starts = 3;
  state.broker.starts = 2;
  STRCMP_CONTAINS("\nkilled and back: the broker, w2 2 times\n",
                  All(JobScreen(state, setting)).c_str());
}

TEST(JobScreen, SaysWhatIsGoingOnBeforeAndAfterTheRounds) {
  state.servers[0].round = 0;
  STRCMP_CONTAINS("  12 s, starting\n", All(JobScreen(state, setting)).c_str());
  state.servers[0].round = 500;
  STRCMP_CONTAINS("  12 s, testing\n", All(JobScreen(state, setting)).c_str());
  state.servers[0].done = true;
  for (WorkerState& worker : state.workers) worker.done = true;
  STRCMP_CONTAINS("  12 s, done\n", All(JobScreen(state, setting)).c_str());
}

TEST(JobScreen, UnknownNumbersAreDashes) {
  state.workers = {WorkerState()};
  state.workers[0].name = "w1";
  state.workers[0].pid = 7;
  STRCMP_CONTAINS("w1       0       -         -          -        -        -         7",
                  All(JobScreen(state, setting)).c_str());
}

TEST(JobScreen, TheRegionIsDrawnOverUnlessTheWidthHasChanged) {
  std::ostringstream out;
  LiveRegion region(out);
  region.Draw({"a", "b"}, 80);
  STRCMP_EQUAL("a\033[K\nb\033[K\n\033[J", out.str().c_str());
  out.str("");
  region.Draw({"c"}, 80);
  STRCMP_EQUAL("\r\033[2Ac\033[K\n\033[J", out.str().c_str());
  out.str("");
  region.Draw({"d"}, 60);
  STRCMP_EQUAL("d\033[K\n\033[J", out.str().c_str());
}

}  // namespace weft::apps
