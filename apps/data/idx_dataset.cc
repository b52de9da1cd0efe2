// SPDX-License-Identifier: Apache-2.0
#include "apps/data/idx_dataset.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "apps/data/record_file.h"

namespace weft::apps {
namespace {

constexpr uint32_t kMostSide = 4096;  // in pixels

// An IDX file of bytes: {0, 0, type, rank}, then `rank` sizes of four bytes, then the data.
struct IdxFile {
  RecordFile file;
  std::vector<uint32_t> sizes;
  int64_t data_offset = 0;
};

struct IdxLabels {
  std::string path;
  std::vector<uint8_t> values;
};

Status Bad(const std::string& path, const std::string& what) {
  return Status::InvalidInput(path + " " + what +
                              "; fetch the set again (`./dev data` gets MNIST and Fashion-MNIST)");
}

// train-images-idx3-ubyte and the like, also written with a dot, or packed.
Result<RecordFile> FindFile(const std::string& folder, const std::string& part_and_content,
                            int rank) {
  const std::string tail = "idx" + std::to_string(rank) + "-ubyte";
  const std::string usual = part_and_content + "-" + tail;
  const std::string dotted = part_and_content + "." + tail;
  for (const std::string& name : {usual, usual + ".gz", dotted, dotted + ".gz"}) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return RecordFile::Open(path.string());
  }
  return Status::NotFound("there is no " + usual + " or " + usual + ".gz in " + folder +
                          "; give the folder that holds the set, or get MNIST and Fashion-MNIST "
                          "with `./dev data`");
}

Result<IdxFile> OpenIdxFile(const std::string& folder, Split split, const std::string& content,
                            int rank) {
  Result<RecordFile> found =
      FindFile(folder, (split == Split::kTrain ? "train-" : "t10k-") + content, rank);
  if (!found.ok()) return found.status();
  IdxFile idx{std::move(found).value(), {}, 4 + 4 * rank};

  std::vector<uint8_t> header(static_cast<size_t>(idx.data_offset));
  const std::string& path = idx.file.path();
  if (idx.file.size() < idx.data_offset) return Bad(path, "ends inside its header");
  if (Status status = idx.file.Read(0, header); !status.ok()) return status;
  const uint8_t magic[] = {0, 0, 8, static_cast<uint8_t>(rank)};  // 8: unsigned bytes
  if (!std::equal(std::begin(magic), std::end(magic), header.begin())) {
    return Bad(path, "is no IDX file of " + content + ": it does not begin with 0 0 8 " +
                         std::to_string(rank));
  }
  uint64_t bytes = 1;
  for (size_t at = 4; at < header.size(); at += 4) {
    idx.sizes.push_back(uint32_t{header[at]} << 24 | uint32_t{header[at + 1]} << 16 |
                        uint32_t{header[at + 2]} << 8 | header[at + 3]);
    if (at > 4 && (idx.sizes.back() < 1 || idx.sizes.back() > kMostSide)) {
      return Bad(path, "says its images have a side of " + std::to_string(idx.sizes.back()) +
                           " pixels, which should be 1 to 4096");
    }
    bytes *= idx.sizes.back();  // below 2^32 * 2^12 * 2^12
  }
  if (idx.sizes[0] < 1 || idx.sizes[0] > INT32_MAX) {
    return Bad(path, "says it holds " + std::to_string(idx.sizes[0]) + " " + content);
  }
  if (static_cast<uint64_t>(idx.file.size() - idx.data_offset) != bytes) {
    return Bad(path, "is " + std::to_string(idx.file.size()) + " bytes long where its header " +
                         "asks for " + std::to_string(bytes + idx.data_offset));
  }
  return idx;
}

Result<IdxLabels> ReadLabels(const std::string& folder, Split split) {
  const Result<IdxFile> idx = OpenIdxFile(folder, split, "labels", 1);
  if (!idx.ok()) return idx.status();
  IdxLabels labels{idx->file.path(), std::vector<uint8_t>(idx->sizes[0])};
  if (Status status = idx->file.Read(idx->data_offset, labels.values); !status.ok()) return status;
  return labels;
}

class IdxDataset final : public train::Dataset {
 public:
  IdxDataset(Facts facts, IdxFile images, std::vector<uint8_t> labels)
      : Dataset(std::move(facts)), images_(std::move(images)), labels_(std::move(labels)) {}

  Result<int> Read(int64_t index, train::Image& image) const override {
    image.Reshape(1, static_cast<int>(images_.sizes[1]), static_cast<int>(images_.sizes[2]));
    const auto image_size = static_cast<int64_t>(image.pixels.size());
    const Status status = images_.file.Read(images_.data_offset + index * image_size, image.pixels);
    if (!status.ok()) return status;
    return labels_[index];
  }

 private:
  const IdxFile images_;
  const std::vector<uint8_t> labels_;
};

}  // namespace

Result<std::unique_ptr<train::Dataset>> OpenIdx(const IdxKind& kind, const std::string& folder,
                                                Split split) {
  Result<IdxFile> images = OpenIdxFile(folder, split, "images", 3);
  if (!images.ok()) return images.status();
  Result<IdxLabels> read = ReadLabels(folder, split);
  if (!read.ok()) return read.status();
  std::vector<uint8_t>& labels = read->values;
  if (labels.size() != images->sizes[0]) {
    return Bad(read->path, "holds " + std::to_string(labels.size()) +
                               " labels but the file of images beside it " +
                               std::to_string(images->sizes[0]));
  }

  int classes = kind.classes;
  if (classes == 0) {
    const Result<IdxLabels> training = ReadLabels(folder, Split::kTrain);
    if (!training.ok()) return training.status();
    classes = *std::max_element(training->values.begin(), training->values.end()) + 1;
  }
  const auto beyond =
      std::find_if(labels.begin(), labels.end(), [&](uint8_t label) { return label >= classes; });
  if (beyond != labels.end()) {
    return Bad(read->path, "gives image " + std::to_string(beyond - labels.begin()) +
                               " the label " + std::to_string(*beyond) + ", but there are only " +
                               std::to_string(classes) + " classes");
  }

  train::Dataset::Facts facts;
  facts.name = kind.name + (split == Split::kTrain ? " (train)" : " (test)");
  facts.image_shape = {1, images->sizes[1], images->sizes[2]};
  facts.classes = classes;
  facts.size = images->sizes[0];
  facts.normalisation = {{kind.mean}, {kind.deviation}};
  facts.variation = kind.variation;
  return std::unique_ptr<train::Dataset>(
      std::make_unique<IdxDataset>(std::move(facts), std::move(images).value(), std::move(labels)));
}

}  // namespace weft::apps
