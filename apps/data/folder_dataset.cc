// SPDX-License-Identifier: Apache-2.0
#include "apps/data/folder_dataset.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/data/image_file.h"
#include "apps/data/record_file.h"

namespace weft::apps {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostFileBytes = 256 << 20;

struct Sample {
  std::string file;  // below the root
  int label = 0;
};

// Class names with their files, both sorted, so that every machine numbers them alike.
using Listing = std::map<std::string, std::vector<std::string>>;

using Labels = std::map<std::string, int>;  // by class name

bool IsImageName(const std::string& name) {
  std::string suffix = fs::path(name).extension().string();
  for (char& c : suffix) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name[0] != '.' && (suffix == ".jpg" || suffix == ".jpeg" || suffix == ".png");
}

// Images in `folder` and below it, as paths from `folder`.
Result<std::vector<std::string>> ListImages(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator entries(folder, error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    std::error_code gone;
    if (IsImageName(name) && !entries->is_directory(gone)) {
      files.push_back(entries->path().lexically_relative(folder).string());
    }
  }
  if (error) return Status::Unavailable("cannot list " + folder.string() + ": " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

Result<Listing> ListClasses(const fs::path& root) {
  Listing listing;
  std::error_code error;
  fs::directory_iterator entries(root, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    std::error_code gone;
    if (name[0] == '.' || !entries->is_directory(gone)) continue;
    Result<std::vector<std::string>> files = ListImages(entries->path());
    if (!files.ok()) return files.status();
    listing.emplace(name, std::move(files).value());
  }
  if (error) return Status::Unavailable("cannot list " + root.string() + ": " + error.message());
  return listing;
}

// By FNV-1a, whose answer is the same on every machine; that of std::hash is not.
bool IsForTesting(const std::string& file) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : file) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
  return (hash >> 32) % 10 == 0;  // the low bits are its weak ones
}

// By the training classes, also for testing, so that both splits agree.
Result<Labels> NumberClasses(const Listing& training, const fs::path& root) {
  if (training.empty()) {
    return Status::InvalidInput(root.string() +
                                " has no sub-folders; put the images of each class into one");
  }
  Labels labels;
  for (const auto& [name, files] : training) {
    if (files.empty()) {
      return Status::InvalidInput((root / name).string() +
                                  " holds no .jpg or .png; put images of the class into it, or "
                                  "remove it");
    }
    labels.emplace(name, static_cast<int>(labels.size()));
  }
  return labels;
}

class FolderDataset final : public train::Dataset {
 public:
  FolderDataset(Facts facts, fs::path root, std::vector<Sample> samples)
      : Dataset(std::move(facts)), root_(std::move(root)), samples_(std::move(samples)) {}

  Result<int> Read(int64_t index, train::Image& image) const override {
    const Sample& sample = samples_[index];
    const std::string path = (root_ / sample.file).string();
    const Result<RecordFile> file = RecordFile::Open(path);
    if (!file.ok()) return file.status();
    if (file->size() > kMostFileBytes) {
      return Status::InvalidInput(path + " is too large for an image; at most 256 MiB are read");
    }
    std::vector<uint8_t> bytes(static_cast<size_t>(file->size()));
    if (Status status = file->Read(0, bytes); !status.ok()) return status;
    const Status decoded = DecodeImage(bytes, image);
    if (!decoded.ok()) return Status::InvalidInput(path + " " + decoded.message());
    return sample.label;
  }

 private:
  const fs::path root_;
  const std::vector<Sample> samples_;
};

}  // namespace

Result<std::unique_ptr<train::Dataset>> OpenFolder(const std::string& folder, Split split) {
  const fs::path home(folder);
  std::error_code ignored;
  if (!fs::exists(home, ignored)) {
    return Status::NotFound("there is no " + folder +
                            "; give a folder with a sub-folder of images for each class");
  }
  if (!fs::is_directory(home, ignored)) {
    return Status::InvalidInput(folder +
                                " is not a folder; give one with a sub-folder of images "
                                "for each class");
  }
  const bool is_split = fs::is_directory(home / "train", ignored);
  const fs::path train_root = is_split ? home / "train" : home;
  const Result<Listing> train_listing = ListClasses(train_root);
  if (!train_listing.ok()) return train_listing.status();
  const Result<Labels> labels = NumberClasses(*train_listing, train_root);
  if (!labels.ok()) return labels.status();

  fs::path root = train_root;
  Result<Listing> test_listing = Listing();
  if (is_split && split == Split::kTest) {
    root = home / (fs::is_directory(home / "val", ignored) ? "val" : "test");
    if (!fs::is_directory(root, ignored)) {
      return Status::NotFound(folder +
                              " has train/ but neither val/ nor test/ beside it; add one, "
                              "or put the class folders directly into it");
    }
    test_listing = ListClasses(root);
    if (!test_listing.ok()) return test_listing.status();
  }

  std::vector<Sample> samples;
  for (const auto& [name, files] : root == train_root ? *train_listing : *test_listing) {
    const auto label = labels->find(name);
    if (label == labels->end()) {
      return Status::InvalidInput((root / name).string() + " is a class that " +
                                  train_root.string() + " does not have; remove it or train on it");
    }
    for (const std::string& file : files) {
      std::string below_root = (fs::path(name) / file).string();
      if (is_split || IsForTesting(below_root) == (split == Split::kTest)) {
        samples.push_back({std::move(below_root), label->second});
      }
    }
  }
  const char* part = split == Split::kTrain ? "train" : "test";
  if (samples.empty()) {
    return Status::InvalidInput(root.string() + " leaves no image for the " + part +
                                " split; put more images into it, or give train/ and val/");
  }

  train::Dataset::Facts facts;
  facts.name = folder + " (" + part + ")";
  facts.image_shape = {3, 0, 0};
  facts.classes = static_cast<int>(labels->size());
  facts.size = static_cast<int64_t>(samples.size());
  facts.normalisation = {{.485f, .456f, .406f}, {.229f, .224f, .225f}};
  facts.variation = train::Variation::kResizeAndFlip;
  return std::unique_ptr<train::Dataset>(
      std::make_unique<FolderDataset>(std::move(facts), std::move(root), std::move(samples)));
}

}  // namespace weft::apps
