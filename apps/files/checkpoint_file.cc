// SPDX-License-Identifier: Apache-2.0
#include "apps/files/checkpoint_file.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "apps/files/sha256.h"

namespace weft::apps {
namespace {

static_assert(std::endian::native == std::endian::little, "the header is written as it lies");

constexpr char kCheckpointMagic[8] = {'w', 'e', 'f', 't', 'k', 'e', 'p', 't'};
constexpr uint32_t kCheckpointVersion = 1;
constexpr size_t kCheckpointVersionEnd = 16;  // magic, version and complement
constexpr size_t kBlock = 1 << 20;            // what is read and hashed at a time

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t version_complement;
  uint64_t generation;
  uint64_t parts;
  uint64_t payload_bytes;
};
static_assert(sizeof(Header) == 40);

constexpr uint64_t kLeastBytes = sizeof(Header) + sizeof(Sha256Digest);

std::string BytesText(uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

}  // namespace

Status WriteCheckpointFile(const std::string& path, uint64_t generation,
                           std::span<const std::span<const std::byte>> parts, FileCalls& calls) {
  Header header = {.magic = {},
                   .version = kCheckpointVersion,
                   .version_complement = ~kCheckpointVersion,
                   .generation = generation,
                   .parts = parts.size(),
                   .payload_bytes = 0};
  std::copy(std::begin(kCheckpointMagic), std::end(kCheckpointMagic), header.magic);
  std::vector<uint64_t> part_bytes;
  for (const std::span<const std::byte> part : parts) {
    part_bytes.push_back(part.size());
    header.payload_bytes += part.size();
  }

  std::vector<std::span<const std::byte>> pieces = {std::as_bytes(std::span(&header, 1)),
                                                    std::as_bytes(std::span(part_bytes))};
  pieces.insert(pieces.end(), parts.begin(), parts.end());
  Sha256 hash;
  for (const std::span<const std::byte> piece : pieces) hash.Add(piece);
  const Sha256Digest digest = hash.Finish();
  pieces.push_back(digest);
  return ReplaceFile(path, pieces, calls);
}

CheckpointFile CheckpointFile::Open(const std::string& path) {
  Result<FileReader> opened = FileReader::Open(path);
  if (!opened.ok()) {
    const bool absent = opened.status().code() == StatusCode::kNotFound;
    return CheckpointFile(absent ? State::kAbsent : State::kUnreadable, opened.status().message());
  }
  const FileReader& file = *opened;
  const auto damaged = [&](const std::string& how) {
    return CheckpointFile(State::kDamaged, path + " is damaged: " + how);
  };
  const auto unreadable = [](const Status& why) {
    return CheckpointFile(State::kUnreadable, why.message());
  };

  if (file.size() == 0) return damaged("it is empty");
  std::vector<std::byte> front(std::min<uint64_t>(file.size(), sizeof(Header)));
  if (Status status = file.ReadAt(0, front); !status.ok()) return unreadable(status);
  Header header = {};
  std::memcpy(&header, front.data(), front.size());
  if (!std::equal(std::begin(kCheckpointMagic), std::end(kCheckpointMagic), header.magic)) {
    return CheckpointFile(State::kDamaged, path + " is not a checkpoint of weft");
  }
  if (file.size() < kCheckpointVersionEnd || header.version_complement != ~header.version) {
    return damaged("its beginning is not what was written");
  }
  if (header.version > kCheckpointVersion) {
    return CheckpointFile(State::kNewerFormat, path + " was written by a newer weft (format " +
                                                   std::to_string(header.version) +
                                                   ", this one knows " +
                                                   std::to_string(kCheckpointVersion) +
                                                   "); update weft or move the file away");
  }
  if (header.version == 0) return damaged("there never was a format 0");
  if (file.size() < kLeastBytes) return damaged("it ends after " + BytesText(file.size()));

  // Compared in this order, none of the sums can overflow.
  const uint64_t rest = file.size() - kLeastBytes;
  if (header.parts > rest / sizeof(uint64_t) ||
      header.payload_bytes != rest - header.parts * sizeof(uint64_t)) {
    return damaged("it has " + BytesText(file.size()) + ", which is not what its header says");
  }
  const size_t table_bytes = static_cast<size_t>(header.parts) * sizeof(uint64_t);
  front.resize(sizeof(Header) + table_bytes);
  const std::span<std::byte> table = std::span(front).subspan(sizeof(Header));
  if (Status status = file.ReadAt(sizeof(Header), table); !status.ok()) return unreadable(status);

  CheckpointFile plausible(State::kPlausible, "");
  plausible.part_bytes_.resize(static_cast<size_t>(header.parts));
  if (!table.empty()) std::memcpy(plausible.part_bytes_.data(), table.data(), table.size());
  uint64_t left = header.payload_bytes;
  for (const uint64_t bytes : plausible.part_bytes_) {
    if (bytes > left) return damaged("its parts are longer than itself");
    left -= bytes;
  }
  if (left != 0) return damaged("its parts are shorter than itself");
  plausible.generation_ = header.generation;
  plausible.payload_bytes_ = header.payload_bytes;
  plausible.front_ = std::move(front);
  plausible.file_.emplace(std::move(opened).value());
  return plausible;
}

Status CheckpointFile::Verify() const { return ReadPayload(nullptr); }

Result<train::StoredState> CheckpointFile::Read() const {
  assert(state_ == State::kPlausible);
  train::StoredState state;
  const bool fits = payload_bytes_ <= std::numeric_limits<ptrdiff_t>::max();
  const size_t room = std::max<size_t>(static_cast<size_t>(payload_bytes_), 1);
  if (fits) state.bytes.reset(new (std::nothrow) std::byte[room]);
  if (state.bytes == nullptr) {
    return Status::Unavailable("there is not enough memory to read " + file_->path() + ", " +
                               BytesText(payload_bytes_));
  }
  if (Status status = ReadPayload(state.bytes.get()); !status.ok()) return status;
  size_t at = 0;
  for (const uint64_t bytes : part_bytes_) {
    state.parts.emplace_back(state.bytes.get() + at, static_cast<size_t>(bytes));
    at += static_cast<size_t>(bytes);
  }
  state.generation = generation_;
  return state;
}

// Reads the parts into `payload`, or nowhere if it is null, and compares the checksum.
Status CheckpointFile::ReadPayload(std::byte* payload) const {
  assert(state_ == State::kPlausible);
  std::vector<std::byte> passing(payload == nullptr ? kBlock : 0);
  Sha256 hash;
  hash.Add(front_);
  for (uint64_t done = 0; done < payload_bytes_;) {
    const size_t length = static_cast<size_t>(std::min<uint64_t>(kBlock, payload_bytes_ - done));
    const std::span<std::byte> block(payload == nullptr ? passing.data() : payload + done, length);
    if (Status status = file_->ReadAt(front_.size() + done, block); !status.ok()) return status;
    hash.Add(block);
    done += length;
  }
  Sha256Digest written;
  if (Status status = file_->ReadAt(front_.size() + payload_bytes_, written); !status.ok()) {
    return status;
  }
  if (hash.Finish() == written) return Status::Ok();
  return Status::InvalidInput(file_->path() + " is damaged: its content does not fit its checksum");
}

}  // namespace weft::apps
