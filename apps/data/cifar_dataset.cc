// SPDX-License-Identifier: Apache-2.0
#include "apps/data/cifar_dataset.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>
#include <vector>

#include "apps/data/record_file.h"

namespace weft::apps {
namespace {

namespace fs = std::filesystem;

constexpr int kSide = 32;
constexpr int64_t kPixelBytes = 3 * kSide * kSide;
constexpr int64_t kRecordsAtOnce = 256;

struct CifarKind {
  std::string name;
  std::string archive_folder;  // what the original archive unpacks to
  std::vector<std::string> train_files;
  std::string test_file;
  int64_t label_bytes;  // the last of them is the label
  int classes;
  train::Normalisation normalisation;
  std::string remedy;
};

// One of a set's files and what was learnt of it.
struct CifarFile {
  RecordFile file;
  std::vector<uint8_t> labels;
};

Result<CifarFile> OpenFile(const CifarKind& kind, const fs::path& home, const std::string& name) {
  const std::string path = (home / name).string();
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    return Status::NotFound("there is no " + name + " in " + home.string() + "; " + kind.remedy);
  }
  Result<RecordFile> file = RecordFile::Open(path);
  if (!file.ok()) return file.status();
  const int64_t record = kind.label_bytes + kPixelBytes;
  if (file->size() == 0 || file->size() % record != 0) {
    return Status::InvalidInput(path + " is " + std::to_string(file->size()) +
                                " bytes long, which is not a whole number of " + kind.name +
                                " records of " + std::to_string(record) + "; " + kind.remedy);
  }
  // Reading it all once costs what the first epoch would, and leaves it in the system's cache.
  std::vector<uint8_t> labels;
  std::vector<uint8_t> block(static_cast<size_t>(kRecordsAtOnce * record));
  const int64_t records = file->size() / record;
  labels.reserve(static_cast<size_t>(records));
  for (int64_t begin = 0; begin < records; begin += kRecordsAtOnce) {
    const int64_t count = std::min(kRecordsAtOnce, records - begin);
    const Status status =
        file->Read(begin * record, std::span(block).first(static_cast<size_t>(count * record)));
    if (!status.ok()) return status;
    for (int64_t i = 0; i < count; ++i) {
      labels.push_back(block[i * record + kind.label_bytes - 1]);
      if (labels.back() >= kind.classes) {
        return Status::InvalidInput(path + " gives image " + std::to_string(begin + i) +
                                    " the label " + std::to_string(labels.back()) + ", but " +
                                    kind.name + " has only " + std::to_string(kind.classes) +
                                    " classes; " + kind.remedy);
      }
    }
  }
  return CifarFile{std::move(file).value(), std::move(labels)};
}

class CifarDataset final : public train::Dataset {
 public:
  CifarDataset(Facts facts, std::vector<CifarFile> files, int64_t label_bytes)
      : Dataset(std::move(facts)), files_(std::move(files)), label_bytes_(label_bytes) {}

  Result<int> Read(int64_t index, train::Image& image) const override {
    auto file = files_.begin();
    while (index >= static_cast<int64_t>(file->labels.size())) {
      index -= static_cast<int64_t>(file->labels.size());
      ++file;
    }
    image.Reshape(3, kSide, kSide);
    const int64_t record = label_bytes_ + kPixelBytes;
    const Status status = file->file.Read(index * record + label_bytes_, image.pixels);
    if (!status.ok()) return status;
    return file->labels[index];
  }

 private:
  const std::vector<CifarFile> files_;
  const int64_t label_bytes_;
};

Result<std::unique_ptr<train::Dataset>> OpenCifar(const CifarKind& kind, const std::string& folder,
                                                  Split split) {
  const std::vector<std::string> names =
      split == Split::kTrain ? kind.train_files : std::vector<std::string>{kind.test_file};
  fs::path home = folder;
  std::error_code ignored;
  if (!fs::exists(home / names[0], ignored) && fs::exists(home / kind.archive_folder, ignored)) {
    home /= kind.archive_folder;
  }

  std::vector<CifarFile> files;
  train::Dataset::Facts facts;
  for (const std::string& name : names) {
    Result<CifarFile> file = OpenFile(kind, home, name);
    if (!file.ok()) return file.status();
    facts.size += static_cast<int64_t>(file->labels.size());
    files.push_back(std::move(file).value());
  }
  facts.name = kind.name + (split == Split::kTrain ? " (train)" : " (test)");
  facts.image_shape = {3, kSide, kSide};
  facts.classes = kind.classes;
  facts.normalisation = kind.normalisation;
  facts.variation = train::Variation::kShiftAndFlip;
  return std::unique_ptr<train::Dataset>(
      std::make_unique<CifarDataset>(std::move(facts), std::move(files), kind.label_bytes));
}

}  // namespace

Result<std::unique_ptr<train::Dataset>> OpenCifar10(const std::string& folder, Split split) {
  return OpenCifar({.name = "cifar10",
                    .archive_folder = "cifar-10-batches-bin",
                    .train_files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                    "data_batch_4.bin", "data_batch_5.bin"},
                    .test_file = "test_batch.bin",
                    .label_bytes = 1,
                    .classes = 10,
                    .normalisation = {{.4914f, .4822f, .4465f}, {.2470f, .2435f, .2616f}},
                    .remedy = "get CIFAR-10 with `./dev data`"},
                   folder, split);
}

Result<std::unique_ptr<train::Dataset>> OpenCifar100(const std::string& folder, Split split) {
  return OpenCifar({.name = "cifar100",
                    .archive_folder = "cifar-100-binary",
                    .train_files = {"train.bin"},
                    .test_file = "test.bin",
                    .label_bytes = 2,  // of the twenty coarse classes, of the hundred fine ones
                    .classes = 100,
                    .normalisation = {{.5071f, .4865f, .4409f}, {.2673f, .2564f, .2762f}},
                    .remedy = "give the folder of CIFAR-100's binary version"},
                   folder, split);
}

}  // namespace weft::apps
