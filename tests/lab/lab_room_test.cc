// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/lab_room.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

constexpr int64_t kMB = 1'000'000;
constexpr int64_t kGB = 1'000 * kMB;
constexpr int64_t kProgram = int64_t{40} << 20;
constexpr int64_t kWindow = int64_t{4} << 20;

}  // namespace

// A machine and a lab that are made up.
TEST_GROUP(LabRoom) {
  LabSize size{.model = "vgg19",
               .workers = 8,
               .shards = 4,
               .model_bytes = 600 * kMB,
               .compute_bytes = 400 * kMB,
               .checkpoint_every = 5};
  Scratch::Room room{.memory_bytes = 64 * kGB,
                     .shared_bytes = 32 * kGB,
                     .folder = "/var/tmp",
                     .folder_bytes = 1 * kGB};

  std::string Refusal() const {
    const Status status = CheckRoom(size, room);
    CHECK(status.ok() || status.code() == StatusCode::kInvalidInput);
    return status.message();
  }
};

TEST(LabRoom, WorkersHoldThreeModelsAndServersFourSharesAndOneForEachWorker) {
  const LabNeed need = NeedOf(size);
  LONGLONGS_EQUAL(8 * (3 * 600 * kMB + 400 * kMB + kProgram), need.workers_bytes);
  LONGLONGS_EQUAL(4 * (600 * kMB + (4 + 8) * 150 * kMB + kProgram), need.servers_bytes);
  LONGLONGS_EQUAL(kProgram + 8 * 4 * 4 * kWindow, need.broker_bytes);
  size.model_bytes = 4 * kMB;  // of which no share fills a window
  LONGLONGS_EQUAL(kProgram + 8 * 4 * 4 * kMB, NeedOf(size).broker_bytes);
}

TEST(LabRoom, ProgramsThatDoNotFitAreRefusedWithTheNumbers) {
  STRCMP_EQUAL("", Refusal().c_str());
  room.memory_bytes = 24 * kGB;
  STRCMP_EQUAL(
      "8 workers (17.9 GB), 4 servers (9.77 GB) and the broker (579 MB) with vgg19 do not fit into "
      "the 24.0 GB of memory that this machine has left; give fewer --workers or --shards, or a "
      "smaller --model or --batch",
      Refusal().c_str());
}

TEST(LabRoom, FilesGoToTheDiskWhereMemoryHasNoRoomBesideThePrograms) {
  LONGLONGS_EQUAL(18 * 600 * kMB + (64 << 20), NeedOf(size).files_bytes);
  CHECK_TRUE(Scratch::InMemory(room, 15 * kGB, 48 * kGB));
  CHECK_FALSE(Scratch::InMemory(room, 15 * kGB, 49 * kGB));
  CHECK_FALSE(Scratch::InMemory(room, 16 * kGB, 0));  // a quarter of it
  room.shared_bytes = 1 * kGB;                        // as containers have it
  CHECK_FALSE(Scratch::InMemory(room, 15 * kGB, 0));
  STRCMP_EQUAL(
      "the servers' files take up to 10.9 GB, for which there is neither room in memory nor in "
      "'/var/tmp', which has 1.00 GB; let TMPDIR name a folder that has, or give a smaller --model",
      Refusal().c_str());
  room.folder_bytes = 11 * kGB;
  STRCMP_EQUAL("", Refusal().c_str());
}

TEST(LabRoom, CheckpointsAreMadeSoOftenThatTheFilesGoIntoMemory) {
  size.model_bytes = 240 * kMB;
  LONGLONGS_EQUAL((int64_t{2} << 30) / (240 * kMB), CheckpointEvery(size, room));
  room.memory_bytes = 20 * kGB;  // a quarter of it has room for (2 * 6 + 8) * 240 MB
  LONGLONGS_EQUAL(6, CheckpointEvery(size, room));
  room.memory_bytes = 16 * kGB;  // not even for five rounds'
  LONGLONGS_EQUAL((int64_t{2} << 30) / (240 * kMB), CheckpointEvery(size, room));
  size.model_bytes = kMB;
  LONGLONGS_EQUAL(100, CheckpointEvery(size, room));
}

TEST(LabRoom, ThisMachineHasSome) {
  const Scratch::Room here = Scratch::RoomHere();
  CHECK_TRUE(here.memory_bytes > 0);
  CHECK_TRUE(here.folder_bytes > 0);
  STRCMP_EQUAL("", CheckRoom({.model = "lenet5"}, here).message().c_str());
}

}  // namespace weft::apps
