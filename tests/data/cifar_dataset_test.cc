// SPDX-License-Identifier: Apache-2.0
#include "apps/data/cifar_dataset.h"

#include "tests/data/scratch_folder.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

using Bytes = std::vector<uint8_t>;

// Records whose pixels are all `first`, `first` + 1 and so on.
Bytes Records(int count, int first, const Bytes& labels) {
  Bytes bytes;
  for (int i = 0; i < count; ++i) {
    bytes.insert(bytes.end(), labels.begin(), labels.end());
    bytes.insert(bytes.end(), 3072, static_cast<uint8_t>(first + i));
  }
  return bytes;
}

}  // namespace

TEST_GROUP(CifarDataset) {
  ScratchFolder folder;

  void WriteTen(const std::string& below = "") {
    for (int batch = 1; batch <= 5; ++batch) {
      folder.Write(below + "data_batch_" + std::to_string(batch) + ".bin",
                   Records(batch, 10 * batch, {static_cast<uint8_t>(batch)}));
    }
    folder.Write(below + "test_batch.bin", Records(2, 200, {9}));
  }
  Result<std::unique_ptr<train::Dataset>> Open(const std::string& kind, Split split) {
    return OpenDataset(kind + ":" + folder.path(), split);
  }
  void CheckRefused(const std::string& kind, const char* expected) {
    const auto dataset = Open(kind, Split::kTrain);
    CHECK_FALSE(dataset.ok());
    STRCMP_CONTAINS(expected, dataset.status().message().c_str());
    STRCMP_CONTAINS(folder.path().c_str(), dataset.status().message().c_str());
  }
};

TEST(CifarDataset, ReadsTheFiveFilesAsOneSet) {
  WriteTen();
  const auto train = Open("cifar10", Split::kTrain);
  LONGS_EQUAL(15, train.value()->size());
  LONGS_EQUAL(10, train.value()->classes());
  CHECK(Shape({3, 32, 32}) == train.value()->image_shape());
  CHECK_TRUE(train.value()->variation() == train::Variation::kShiftAndFlip);
  train::Image image;
  int64_t index = 0;
  for (int batch = 1; batch <= 5; ++batch) {
    for (int i = 0; i < batch; ++i) {
      LONGS_EQUAL(batch, train.value()->Read(index++, image).value());
      LONGS_EQUAL(3072, image.pixels.size());
      LONGS_EQUAL(10 * batch + i, image.pixels.front());
      LONGS_EQUAL(10 * batch + i, image.pixels.back());
    }
  }
  const auto test = Open("cifar10", Split::kTest);
  LONGS_EQUAL(2, test.value()->size());
  LONGS_EQUAL(9, test.value()->Read(1, image).value());
  LONGS_EQUAL(201, image.pixels[0]);
}

TEST(CifarDataset, KeepsTheChannelsApart) {
  WriteTen();
  Bytes record = Records(1, 0, {3});
  for (int i = 0; i < 3072; ++i) record[1 + i] = static_cast<uint8_t>(100 + i / 1024);
  record[1 + 1024 + 32 + 2] = 77;  // green, row 1, column 2
  folder.Write("test_batch.bin", record);
  train::Image image;
  LONGS_EQUAL(3, Open("cifar10", Split::kTest).value()->Read(0, image).value());
  CHECK_TRUE(image.channels == 3 && image.height == 32 && image.width == 32);
  LONGS_EQUAL(100, image.pixels[0]);
  LONGS_EQUAL(77, image.pixels[1024 + 32 + 2]);
  LONGS_EQUAL(102, image.pixels[2048]);
}

TEST(CifarDataset, FindsTheFolderOfTheOriginalArchive) {
  WriteTen("cifar-10-batches-bin/");
  LONGS_EQUAL(15, Open("cifar10", Split::kTrain).value()->size());
}

TEST(CifarDataset, TakesTheFineLabelsOfTheHundred) {
  folder.Write("train.bin", Records(3, 50, {19, 99}));
  folder.Write("cifar-100-binary/test.bin", Records(2, 60, {0, 42}));
  train::Image image;
  const auto train = Open("cifar100", Split::kTrain);
  LONGS_EQUAL(100, train.value()->classes());
  LONGS_EQUAL(99, train.value()->Read(2, image).value());
  LONGS_EQUAL(52, image.pixels[0]);
  LONGS_EQUAL(42, Open("cifar100", Split::kTest).value()->Read(0, image).value());
  DOUBLES_EQUAL(.2762, train.value()->normalisation().deviation[2], 1e-7);
}

TEST(CifarDataset, RefusesFilesThatAreNoWholeRecords) {
  WriteTen();
  for (const int count : {0, 1, 3072, 3074}) {
    folder.Write("data_batch_3.bin", Bytes(static_cast<size_t>(count)));
    CheckRefused("cifar10", "data_batch_3.bin is ");
    CheckRefused("cifar10",
                 "not a whole number of cifar10 records of 3073; get CIFAR-10 with "
                 "`./dev data`");
  }
}

TEST(CifarDataset, RefusesLabelsOutOfRange) {
  WriteTen();
  Bytes records = Records(300, 0, {4});
  records[270 * 3073] = 10;
  folder.Write("data_batch_4.bin", records);
  CheckRefused("cifar10", "data_batch_4.bin gives image 270 the label 10, but cifar10 has only 10");
  folder.Write("train.bin", Records(1, 0, {0, 100}));
  CheckRefused("cifar100", "train.bin gives image 0 the label 100");
}

TEST(CifarDataset, SaysWhichFileIsMissingAndHowToGetIt) {
  CheckRefused("cifar10", "there is no data_batch_1.bin in ");
  CheckRefused("cifar100", "there is no train.bin in ");
  WriteTen();
  std::filesystem::remove(folder / "data_batch_5.bin");
  CheckRefused("cifar10", "there is no data_batch_5.bin in ");
  CheckRefused("cifar10", "get CIFAR-10 with `./dev data`");
}

}  // namespace weft::apps
