// SPDX-License-Identifier: Apache-2.0
#include "apps/data/folder_dataset.h"

#include <png.h>
#include <turbojpeg.h>

#include <set>

#include "core/train/batch_loader.h"
#include "tests/data/image_bytes.h"
#include "tests/data/scratch_folder.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

using Bytes = std::vector<uint8_t>;

// One colour all over, so that any view of it shows that colour.
Bytes Png(int grey, int width, int height) {
  const Bytes pixels(static_cast<size_t>(width) * height, static_cast<uint8_t>(grey));
  return PngBytes(pixels.data(), width, height, PNG_FORMAT_GRAY);
}

Bytes Jpeg(int grey, int width, int height) {
  const Bytes pixels(static_cast<size_t>(width) * height, static_cast<uint8_t>(grey));
  return JpegBytes(pixels, width, height, TJPF_GRAY, TJSAMP_GRAY);
}

}  // namespace

TEST_GROUP(FolderDataset) {
  ScratchFolder folder;

  Result<std::unique_ptr<train::Dataset>> Open(Split split = Split::kTrain) {
    return OpenDataset("folder:" + folder.path(), split);
  }
  void CheckRefused(const char* expected, Split split = Split::kTrain) {
    const auto dataset = Open(split);
    CHECK_FALSE(dataset.ok());
    STRCMP_CONTAINS(expected, dataset.status().message().c_str());
    STRCMP_CONTAINS(folder.path().c_str(), dataset.status().message().c_str());
  }
};

TEST(FolderDataset, NumbersClassesAndFilesByName) {
  folder.Write("train/zebra/1.png", Png(10, 5, 4));
  folder.Write("train/ant/b.JPG", Jpeg(30, 50, 40));
  folder.Write("train/ant/a.jpeg", Jpeg(20, 16, 16));
  folder.Write("train/ant/more/c.png", Png(40, 3, 3));
  folder.Write("train/ant/notes.txt", Png(99, 3, 3));
  folder.Write("train/ant/.hidden.png", Png(99, 3, 3));
  folder.Write("train/.cache/x.png", Png(99, 3, 3));
  folder.Write("val/zebra/2.png", Png(50, 7, 7));
  const auto train = Open();
  LONGS_EQUAL(4, train.value()->size());
  LONGS_EQUAL(2, train.value()->classes());
  CHECK(Shape({3, 0, 0}) == train.value()->image_shape());
  CHECK_TRUE(train.value()->variation() == train::Variation::kResizeAndFlip);
  DOUBLES_EQUAL(.485, train.value()->normalisation().mean[0], 1e-7);

  const struct {
    int label;
    int grey;
    int width;
    int height;
  } expected[] = {{0, 20, 16, 16}, {0, 30, 50, 40}, {0, 40, 3, 3}, {1, 10, 5, 4}};
  train::Image image;
  for (int i = 0; i < 4; ++i) {
    LONGS_EQUAL(expected[i].label, train.value()->Read(i, image).value());
    LONGS_EQUAL(expected[i].width, image.width);
    LONGS_EQUAL(expected[i].height, image.height);
    CHECK_TRUE(std::abs(image.pixels[0] - expected[i].grey) <= 1);
  }
  const auto test = Open(Split::kTest);
  LONGS_EQUAL(1, test.value()->size());
  LONGS_EQUAL(2, test.value()->classes());
  LONGS_EQUAL(1, test.value()->Read(0, image).value());
  LONGS_EQUAL(50, image.pixels[0]);
}

TEST(FolderDataset, WithoutTrainAndValSetsATenthAsideByName) {
  for (int i = 0; i < 200; ++i) {
    folder.Write("c" + std::to_string(i % 2) + "/" + std::to_string(i) + ".png", Png(i, 2, 2));
  }
  std::set<int> seen;
  train::Image image;
  for (const Split split : {Split::kTrain, Split::kTest}) {
    const auto dataset = Open(split);
    LONGS_EQUAL(2, dataset.value()->classes());
    for (int64_t i = 0; i < dataset.value()->size(); ++i) {
      const int label = dataset.value()->Read(i, image).value();
      LONGS_EQUAL(image.pixels[0] % 2, label);
      CHECK_TRUE(seen.insert(image.pixels[0]).second);
    }
  }
  LONGS_EQUAL(200, seen.size());
  // 20 expected, deviation 4.2; fixed names make it the same every time.
  const int64_t aside = Open(Split::kTest).value()->size();
  CHECK_TRUE(aside > 8 && aside < 36);
  folder.Write("c0/new.png", Png(1, 2, 2));
  CHECK_TRUE(Open(Split::kTest).value()->size() - aside <= 1);
}

TEST(FolderDataset, TakesTestWhereThereIsNoVal) {
  folder.Write("train/a/1.png", Png(1, 2, 2));
  folder.Write("test/a/2.png", Png(2, 2, 2));
  LONGS_EQUAL(1, Open(Split::kTest).value()->size());
}

TEST(FolderDataset, TrainsAroundDamagedFilesAndNamesThem) {
  folder.Write("train/a/1.png", Png(100, 20, 30));
  folder.Write("train/a/2.jpg", Bytes{0xFF, 0xD8, 0xFF, 0xE0});
  folder.Write("train/a/3.png", Bytes());
  folder.Write("train/b/4.jpg", Jpeg(200, 300, 200));
  const auto dataset = Open();
  train::Image image;
  for (int i = 0; i < 2; ++i) {
    const auto loader = train::BatchLoader::Create(
                            *dataset.value(),
                            {.sampling = {.batch = 4}, .height = 8, .width = 8, .augment = i == 0})
                            .value();
    const train::Batch batch = loader->Next().value();
    for (int64_t sample = 0; sample < 4; ++sample) {
      // The first and the last channel: red at .485 / .229, blue at .406 / .225. JPEG may be off
      // by one level.
      const int grey = batch.labels[sample] == 0 ? 100 : 200;
      const float* pixels = &batch.images[sample * 192];
      DOUBLES_EQUAL((grey / 255.0 - .485) / .229, pixels[0], 0.02);
      DOUBLES_EQUAL((grey / 255.0 - .406) / .225, pixels[191], 0.02);
    }
    LONGS_EQUAL(2, loader->problem_count());
    STRCMP_CONTAINS("/train/a/2.jpg is a damaged JPEG", loader->problems()[0].what.c_str());
    STRCMP_CONTAINS("/train/a/3.png is neither JPEG nor PNG", loader->problems()[1].what.c_str());
  }
}

TEST(FolderDataset, MustBeToldTheSizeOfTheNetworksImages) {
  folder.Write("train/a/1.png", Png(100, 20, 30));
  const auto dataset = Open();
  const Status status =
      train::BatchLoader::Create(*dataset.value(), {.sampling = {.batch = 1}}).status();
  STRCMP_CONTAINS("differ in size; say which height and width", status.message().c_str());
}

TEST(FolderDataset, ReportsAFileThatWentAway) {
  folder.Write("train/a/1.png", Png(100, 20, 30));
  const auto dataset = Open();
  std::filesystem::remove(folder / "train/a/1.png");
  train::Image image;
  const Status status = dataset.value()->Read(0, image).status();
  CHECK_TRUE(status.code() == StatusCode::kNotFound);
  STRCMP_CONTAINS("train/a/1.png: No such file", status.message().c_str());
}

TEST(FolderDataset, RefusesWhatIsNoFolderOfClasses) {
  CheckRefused("has no sub-folders");
  folder.Write("train/loose.png", Png(1, 2, 2));
  CheckRefused("/train has no sub-folders; put the images of each class into one");
  folder.Write("train/a/1.gif", Png(1, 2, 2));
  CheckRefused("/train/a holds no .jpg or .png");
  folder.Write("train/a/1.png", Png(1, 2, 2));
  CheckRefused("has train/ but neither val/ nor test/", Split::kTest);
  folder.Write("val/b/1.png", Png(1, 2, 2));
  CheckRefused("/val/b is a class that", Split::kTest);

  const std::string missing =
      OpenDataset("folder:" + (folder / "none"), Split::kTrain).status().message();
  STRCMP_CONTAINS("none; give a folder with a sub-folder of images for each class",
                  missing.c_str());
  const std::string file =
      OpenDataset("folder:" + (folder / "train/a/1.png"), Split::kTrain).status().message();
  STRCMP_CONTAINS("1.png is not a folder", file.c_str());
}

TEST(FolderDataset, RefusesASplitWithoutImages) {
  folder.Write("a/1.png", Png(1, 2, 2));  // by its hash, for training
  LONGS_EQUAL(1, Open().value()->size());
  CheckRefused("leaves no image for the test split", Split::kTest);
}

}  // namespace weft::apps
