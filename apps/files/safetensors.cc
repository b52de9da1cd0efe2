// SPDX-License-Identifier: Apache-2.0
#include "apps/files/safetensors.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <utility>

namespace weft::apps {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr size_t kLengthBytes = 8;  // the length of the header, in front of it
constexpr size_t kDataAlignment = 8;

Status MistakeOfFile(const std::string& path, const std::string& what) {
  return Status::InvalidInput(path + " is not a safetensors file: " + what);
}

float FromDouble(double value) { return static_cast<float>(value); }

float FromBfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

// One sign bit, five of exponent (bias 15), ten of fraction.
float FromHalf(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t exponent = (bits >> 10) & 0x1Fu;
  const uint32_t fraction = bits & 0x3FFu;
  if (exponent == 0) {  // fraction * 2^-24, exact in a float
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  const uint32_t wide_exponent = exponent == 0x1F ? 0xFFu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide_exponent << 23) | (fraction << 13));
}

// Reads `values.size()` elements stored as Stored, a block at a time.
template <typename Stored>
Status ReadConverted(const FileReader& file, uint64_t offset, float (*convert)(Stored),
                     std::span<float> values) {
  Stored block[8192];
  while (!values.empty()) {
    const std::span<Stored> part(block, std::min(values.size(), std::size(block)));
    if (Status status = file.ReadAt(offset, std::as_writable_bytes(part)); !status.ok()) {
      return status;
    }
    std::transform(part.begin(), part.end(), values.begin(), convert);
    offset += part.size_bytes();
    values = values.subspan(part.size());
  }
  return Status::Ok();
}

}  // namespace

SafetensorsFile::SafetensorsFile(FileReader file, SafetensorsHeader header, uint64_t data_begin)
    : file_(std::move(file)), header_(std::move(header)), data_begin_(data_begin) {
  for (size_t i = 0; i < header_.entries.size(); ++i) by_name_[header_.entries[i].name] = i;
}

Result<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  Result<FileReader> file = FileReader::Open(path);
  if (!file.ok()) return file.status();
  if (file->size() < kLengthBytes) {
    return MistakeOfFile(path, "it has only " + std::to_string(file->size()) + " bytes");
  }
  uint64_t header_bytes = 0;
  if (Status status = file->ReadAt(0, std::as_writable_bytes(std::span(&header_bytes, 1)));
      !status.ok()) {
    return status;
  }
  const uint64_t rest = file->size() - kLengthBytes;
  if (header_bytes > kMostHeaderBytes) {
    return MistakeOfFile(path, "its header would have " + std::to_string(header_bytes) +
                                   " bytes, over " + std::to_string(kMostHeaderBytes >> 20) +
                                   " MiB");
  }
  if (header_bytes > rest) return MistakeOfFile(path, "it ends inside its header");
  std::string text(static_cast<size_t>(header_bytes), '\0');
  if (Status status = file->ReadAt(kLengthBytes, std::as_writable_bytes(std::span(text)));
      !status.ok()) {
    return status;
  }
  Result<SafetensorsHeader> header = ParseSafetensorsHeader(text, rest - header_bytes);
  if (!header.ok()) return MistakeOfFile(path, header.status().message());
  return SafetensorsFile(std::move(file).value(), std::move(header).value(),
                         kLengthBytes + header_bytes);
}

const SafetensorsEntry* SafetensorsFile::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &header_.entries[found->second];
}

Status SafetensorsFile::Read(const SafetensorsEntry& entry, std::span<float> values) const {
  assert(entry.elements() == values.size());
  const uint64_t offset = data_begin_ + entry.begin;
  if (entry.dtype == "F32") return file_.ReadAt(offset, std::as_writable_bytes(values));
  if (entry.dtype == "F16") return ReadConverted(file_, offset, FromHalf, values);
  if (entry.dtype == "BF16") return ReadConverted(file_, offset, FromBfloat16, values);
  if (entry.dtype == "F64") return ReadConverted(file_, offset, FromDouble, values);
  return Status::InvalidInput(path() + ": tensor " + QuotedName(entry.name) + " is " + entry.dtype +
                              ", which cannot be read as float; store it as F32, F16, BF16 or F64");
}

Status SafetensorsFile::Read(const SafetensorsEntry& entry, std::span<int64_t> values) const {
  assert(entry.elements() == values.size());
  if (entry.dtype == "I64") {
    return file_.ReadAt(data_begin_ + entry.begin, std::as_writable_bytes(values));
  }
  return Status::InvalidInput(path() + ": tensor " + QuotedName(entry.name) + " is " + entry.dtype +
                              ", but counts batches; store it as I64");
}

Status WriteSafetensors(const std::string& path, std::span<const TensorToWrite> tensors,
                        const std::map<std::string, std::string>& metadata, FileCalls& calls) {
  SafetensorsHeader header;
  header.metadata = metadata;
  for (const TensorToWrite& tensor : tensors) {
    const bool whole = std::holds_alternative<std::span<const int64_t>>(tensor.values);
    SafetensorsEntry& entry = header.entries.emplace_back();
    entry.name = tensor.name;
    entry.dtype = whole ? "I64" : "F32";
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
      entry.shape.push_back(tensor.shape[axis]);
    }
    entry.bytes = entry.elements() * (whole ? sizeof(int64_t) : sizeof(float));
  }

  // The wider elements lie first, so that each tensor is aligned to its own elements.
  std::vector<std::span<const std::byte>> parts(2);  // for the length and the header
  uint64_t end = 0;
  for (const char* dtype : {"I64", "F32"}) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (header.entries[i].dtype != dtype) continue;
      const std::span<const std::byte> bytes =
          std::visit([](const auto& values) { return std::as_bytes(values); }, tensors[i].values);
      assert(bytes.size() == header.entries[i].bytes);
      header.entries[i].begin = end;
      end += bytes.size();
      parts.push_back(bytes);
    }
  }

  std::string json = SafetensorsHeaderJson(header);
  json.append((kDataAlignment - json.size() % kDataAlignment) % kDataAlignment, ' ');
  assert(json.size() <= kMostHeaderBytes);
  const uint64_t header_bytes = json.size();
  parts[0] = std::as_bytes(std::span(&header_bytes, 1));
  parts[1] = std::as_bytes(std::span(json));
  return ReplaceFile(path, parts, calls);
}

}  // namespace weft::apps
