// SPDX-License-Identifier: Apache-2.0
// IDX files come from the net and from people's own scripts: each way to be wrong gets a sentence
// that names the file.
#include "apps/data/idx_dataset.h"

#include <zlib.h>

#include "tests/data/scratch_folder.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

using Bytes = std::vector<uint8_t>;

void Append32(Bytes& bytes, uint32_t number) {
  for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<uint8_t>(number >> shift));
}

Bytes Images(uint32_t count, uint32_t height, uint32_t width) {
  Bytes bytes = {0, 0, 8, 3};
  for (const uint32_t size : {count, height, width}) Append32(bytes, size);
  for (uint32_t i = 0; i < count * height * width; ++i) bytes.push_back(static_cast<uint8_t>(i));
  return bytes;
}

Bytes Labels(const Bytes& labels) {
  Bytes bytes = {0, 0, 8, 1};
  Append32(bytes, static_cast<uint32_t>(labels.size()));
  bytes.insert(bytes.end(), labels.begin(), labels.end());
  return bytes;
}

Bytes First(const Bytes& bytes, size_t count) {
  return {bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(count)};
}

Bytes Packed(const Bytes& bytes) {
  z_stream stream = {};
  // 15 + 16: the largest window, in gzip's wrapping.
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  Bytes packed(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<uint8_t*>(bytes.data());
  stream.avail_in = static_cast<unsigned>(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<unsigned>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

TEST_GROUP(IdxDataset) {
  ScratchFolder folder;

  void WriteTrain(const Bytes& images, const Bytes& labels, const std::string& packing = "") {
    folder.Write("train-images-idx3-ubyte" + packing, images);
    folder.Write("train-labels-idx1-ubyte" + packing, labels);
  }
  Result<std::unique_ptr<train::Dataset>> Open(const std::string& kind = "mnist",
                                               Split split = Split::kTrain) {
    return OpenDataset(kind + ":" + folder.path(), split);
  }
  void CheckRefused(const std::string& expected) {
    const auto dataset = Open();
    CHECK_FALSE(dataset.ok());
    STRCMP_CONTAINS(expected.c_str(), dataset.status().message().c_str());
    STRCMP_CONTAINS(folder.path().c_str(), dataset.status().message().c_str());
    CHECK_TRUE(dataset.status().message().find('\n') == std::string::npos);
  }
  void CheckReads(const train::Dataset& dataset) {
    LONGS_EQUAL(3, dataset.size());
    CHECK(Shape({1, 2, 4}) == dataset.image_shape());
    const int labels[] = {7, 0, 9};
    train::Image image;
    for (int i = 0; i < 3; ++i) {
      LONGS_EQUAL(labels[i], dataset.Read(i, image).value());
      CHECK_TRUE(image.channels == 1 && image.height == 2 && image.width == 4);
      for (int p = 0; p < 8; ++p) LONGS_EQUAL(i * 8 + p, image.pixels[p]);
    }
  }
};

TEST(IdxDataset, ReadsPlainFiles) {
  WriteTrain(Images(3, 2, 4), Labels({7, 0, 9}));
  const auto dataset = Open();
  CheckReads(*dataset.value());
  STRCMP_EQUAL("mnist (train)", dataset.value()->name().c_str());
  LONGS_EQUAL(10, dataset.value()->classes());
  DOUBLES_EQUAL(.1307, dataset.value()->normalisation().mean[0], 1e-7);
  DOUBLES_EQUAL(.3081, dataset.value()->normalisation().deviation[0], 1e-7);
  CHECK_TRUE(dataset.value()->variation() == train::Variation::kNone);
}

TEST(IdxDataset, ReadsPackedFiles) {
  WriteTrain(Packed(Images(3, 2, 4)), Packed(Labels({7, 0, 9})), ".gz");
  CheckReads(*Open().value());
}

TEST(IdxDataset, ReadsTheOtherSpellingOfTheNames) {
  folder.Write("train-images.idx3-ubyte", Images(3, 2, 4));
  folder.Write("train-labels.idx1-ubyte.gz", Packed(Labels({7, 0, 9})));
  CheckReads(*Open().value());
}

TEST(IdxDataset, KeepsTrainingAndTestApart) {
  WriteTrain(Images(3, 2, 4), Labels({7, 0, 9}));
  folder.Write("t10k-images-idx3-ubyte", Images(2, 2, 4));
  folder.Write("t10k-labels-idx1-ubyte", Labels({1, 2}));
  LONGS_EQUAL(3, Open().value()->size());
  const auto test = Open("fashion-mnist", Split::kTest);
  LONGS_EQUAL(2, test.value()->size());
  STRCMP_EQUAL("fashion-mnist (test)", test.value()->name().c_str());
  DOUBLES_EQUAL(.2860, test.value()->normalisation().mean[0], 1e-7);
  DOUBLES_EQUAL(.3530, test.value()->normalisation().deviation[0], 1e-7);
}

TEST(IdxDataset, CountsTheClassesOfAnUnknownSetInItsTrainingLabels) {
  WriteTrain(Images(3, 2, 4), Labels({7, 0, 41}));
  folder.Write("t10k-images-idx3-ubyte", Images(1, 2, 4));
  folder.Write("t10k-labels-idx1-ubyte", Labels({3}));
  LONGS_EQUAL(42, Open("idx").value()->classes());
  LONGS_EQUAL(42, Open("idx", Split::kTest).value()->classes());
  folder.Write("t10k-labels-idx1-ubyte", Labels({42}));
  STRCMP_CONTAINS(
      "t10k-labels-idx1-ubyte gives image 0 the label 42, but there are only 42 classes",
      Open("idx", Split::kTest).status().message().c_str());
}

TEST(IdxDataset, RefusesAFileCutAnywhere) {
  const Bytes images = Images(3, 2, 4);
  const Bytes labels = Labels({7, 0, 9});
  for (size_t length = 0; length < images.size(); ++length) {
    WriteTrain(First(images, length), labels);
    CheckRefused(length < 16 ? "train-images-idx3-ubyte ends inside its header"
                             : "bytes long where its header asks for 40");
  }
  for (size_t length = 0; length < labels.size(); ++length) {
    WriteTrain(images, First(labels, length));
    CheckRefused(length < 8 ? "train-labels-idx1-ubyte ends inside its header"
                            : "bytes long where its header asks for 11");
  }
}

TEST(IdxDataset, RefusesAPackedFileCutAnywhere) {
  const Bytes images = Packed(Images(3, 2, 4));
  folder.Write("train-labels-idx1-ubyte.gz", Packed(Labels({7, 0, 9})));
  for (size_t length = 0; length < images.size(); ++length) {
    folder.Write("train-images-idx3-ubyte.gz", First(images, length));
    CheckRefused("train-images-idx3-ubyte.gz ");
  }
}

TEST(IdxDataset, RefusesAPackedFileWithAWrongByteInside) {
  Bytes images = Packed(Images(3, 2, 4));
  images[images.size() - 6] ^= 1;  // in the checksum
  WriteTrain(images, Packed(Labels({7, 0, 9})), ".gz");
  CheckRefused("train-images-idx3-ubyte.gz is damaged or cut short");
}

TEST(IdxDataset, RefusesWrongBeginnings) {
  for (size_t at = 0; at < 4; ++at) {
    Bytes images = Images(3, 2, 4);
    images[at] ^= 0x10;
    WriteTrain(images, Labels({7, 0, 9}));
    CheckRefused(
        "train-images-idx3-ubyte is no IDX file of images: it does not begin with 0 0 8 3");
  }
  WriteTrain(Images(3, 2, 4), Images(3, 1, 1));
  CheckRefused("train-labels-idx1-ubyte is no IDX file of labels");
}

TEST(IdxDataset, RefusesSizesThatCannotBe) {
  for (const auto& [count, height, width] :
       {std::tuple(0u, 2u, 4u), std::tuple(0xFFFFFFFFu, 2u, 4u)}) {
    Bytes images = Images(0, height, width);
    for (int i = 0; i < 4; ++i) images[4 + i] = static_cast<uint8_t>(count);
    WriteTrain(images, Labels({}));
    CheckRefused("says it holds " + std::to_string(count) + " images");
  }
  for (const uint8_t side : {uint8_t{0}, uint8_t{0xFF}}) {
    Bytes images = Images(3, 2, 4);
    for (int i = 12; i < 16; ++i) images[i] = side;
    WriteTrain(images, Labels({7, 0, 9}));
    CheckRefused("says its images have a side of ");
  }
  Bytes longer = Images(3, 2, 4);
  longer.push_back(0);
  WriteTrain(longer, Labels({7, 0, 9}));
  CheckRefused("is 41 bytes long where its header asks for 40");
}

TEST(IdxDataset, RefusesLabelsThatDoNotFitTheImages) {
  WriteTrain(Images(3, 2, 4), Labels({7, 0}));
  CheckRefused("train-labels-idx1-ubyte holds 2 labels but the file of images beside it 3");
  WriteTrain(Images(3, 2, 4), Labels({7, 10, 9}));
  CheckRefused("train-labels-idx1-ubyte gives image 1 the label 10, but there are only 10 classes");
}

TEST(IdxDataset, SaysHowToGetAMissingSet) {
  CheckRefused("there is no train-images-idx3-ubyte or train-images-idx3-ubyte.gz in ");
  CheckRefused("`./dev data`");
  WriteTrain(Images(3, 2, 4), Labels({7, 0, 9}));
  CHECK_TRUE(Open("mnist", Split::kTest).status().code() == StatusCode::kNotFound);
  std::filesystem::remove(folder / "train-labels-idx1-ubyte");
  CheckRefused("there is no train-labels-idx1-ubyte");
  std::filesystem::create_directory(folder / "train-labels-idx1-ubyte");
  CheckRefused("train-labels-idx1-ubyte is not a file");
}

TEST(IdxDataset, ReportsASampleThatWasCutOffLater) {
  WriteTrain(Images(3, 2, 4), Labels({7, 0, 9}));
  const auto dataset = Open();
  std::filesystem::resize_file(folder / "train-images-idx3-ubyte", 16 + 2 * 8 + 3);
  train::Image image;
  LONGS_EQUAL(0, dataset.value()->Read(1, image).value());
  const Status status = dataset.value()->Read(2, image).status();
  STRCMP_CONTAINS("train-images-idx3-ubyte ends before byte 40", status.message().c_str());
}

}  // namespace weft::apps
