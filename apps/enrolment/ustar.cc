// SPDX-License-Identifier: Apache-2.0
#include "apps/enrolment/ustar.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <optional>

namespace weft::apps {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kRecord = 20 * kBlock;  // what tar fills an archive up to
constexpr std::string_view kMagic("ustar\00000", 8);

// The fields of a header that matter here, by where they begin and how long they are.
struct Field {
  size_t begin;
  size_t size;
};
constexpr Field kName{0, 100};
constexpr Field kMode{100, 8};
constexpr Field kUser{108, 8};
constexpr Field kGroup{116, 8};
constexpr Field kSize{124, 12};
constexpr Field kTime{136, 12};
constexpr Field kChecksum{148, 8};
constexpr Field kKind{156, 1};
constexpr Field kLinkName{157, 100};
constexpr Field kMagicAndVersion{257, 8};
constexpr Field kPrefix{345, 155};

std::string_view Of(std::string_view header, Field field) {
  return header.substr(field.begin, field.size);
}

void PutText(std::string& header, Field field, std::string_view text) {
  header.replace(field.begin, text.size(), text);
}

// In octal digits up to the field's last byte, which stays 0.
void PutNumber(std::string& header, Field field, uint64_t number) {
  char digits[24];
  std::snprintf(digits, sizeof(digits), "%0*llo", static_cast<int>(field.size - 1),
                static_cast<unsigned long long>(number));
  PutText(header, field, std::string_view(digits).substr(0, field.size - 1));
}

// The sum of all bytes, those of the checksum itself counted as spaces.
uint64_t Checksum(std::string_view header) {
  uint64_t sum = 0;
  for (size_t i = 0; i < header.size(); ++i) {
    const bool own = i >= kChecksum.begin && i < kChecksum.begin + kChecksum.size;
    sum += own ? ' ' : static_cast<unsigned char>(header[i]);
  }
  return sum;
}

// Octal digits, ended by a 0, a space or the field's end.
std::optional<uint64_t> Number(std::string_view text) {
  uint64_t number = 0;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '7'; ++digits) {
    number = number * 8 + static_cast<uint64_t>(text[digits] - '0');
  }
  if (digits == 0 || digits > 12) return std::nullopt;
  if (text.find_first_not_of(std::string_view(" \0", 2), digits) != std::string_view::npos) {
    return std::nullopt;
  }
  return number;
}

bool AllZero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
}

Status Damaged() { return Status::InvalidInput("it is damaged, or is no archive of tar's"); }

// Its name and size, or what is wrong with it.
Result<TarFile> ReadHeader(std::string_view header, size_t most_bytes, size_t& size) {
  const std::optional<uint64_t> checksum = Number(Of(header, kChecksum));
  if (!checksum || *checksum != Checksum(header)) return Damaged();
  if (Of(header, kMagicAndVersion) != kMagic) {
    return Status::InvalidInput("it is not in the ustar format");
  }
  const std::string_view field = Of(header, kName);
  const std::string name(field.substr(0, field.find('\0')));
  const char kind = header[kKind.begin];
  if ((kind != '0' && kind != '\0') || !AllZero(Of(header, kLinkName))) {
    return Status::InvalidInput("it holds something other than plain files");
  }
  if (name.empty() || name.size() == field.size() || name.find('/') != std::string::npos ||
      !AllZero(field.substr(name.size())) || !AllZero(Of(header, kPrefix))) {
    return Status::InvalidInput("it holds a file in a folder, or one without a proper name");
  }
  const std::optional<uint64_t> bytes = Number(Of(header, kSize));
  if (!bytes) return Damaged();
  if (*bytes > most_bytes) {
    return Status::InvalidInput("it holds a file of more than " + std::to_string(most_bytes) +
                                " bytes");
  }
  size = static_cast<size_t>(*bytes);
  return TarFile{.name = name, .content = {}};
}

}  // namespace

std::string WriteUstar(const std::vector<TarFile>& files, int64_t time_s) {
  std::string archive;
  for (const TarFile& file : files) {
    assert(!file.name.empty() && file.name.size() < kName.size);
    std::string header(kBlock, '\0');
    PutText(header, kName, file.name);
    PutNumber(header, kMode, 0600);
    PutNumber(header, kUser, 0);
    PutNumber(header, kGroup, 0);
    PutNumber(header, kSize, file.content.size());
    PutNumber(header, kTime, static_cast<uint64_t>(std::max<int64_t>(time_s, 0)));
    header[kKind.begin] = '0';
    PutText(header, kMagicAndVersion, kMagic);
    PutNumber(header, {kChecksum.begin, kChecksum.size - 1}, Checksum(header));
    header[kChecksum.begin + kChecksum.size - 1] = ' ';
    archive += header + file.content;
    archive.resize((archive.size() + kBlock - 1) / kBlock * kBlock);
  }
  archive.resize((archive.size() + 2 * kBlock + kRecord - 1) / kRecord * kRecord);
  return archive;
}

Result<std::vector<TarFile>> ReadUstar(std::string_view archive, size_t most_bytes) {
  std::vector<TarFile> files;
  while (archive.size() >= kBlock && !AllZero(archive.substr(0, kBlock))) {
    size_t size = 0;
    Result<TarFile> file = ReadHeader(archive.substr(0, kBlock), most_bytes, size);
    if (!file.ok()) return file.status();
    archive.remove_prefix(kBlock);
    if (archive.size() < size) return Status::InvalidInput("it is cut off");
    file->content = archive.substr(0, size);
    const size_t blocks = (size + kBlock - 1) / kBlock * kBlock;
    archive.remove_prefix(std::min(blocks, archive.size()));
    files.push_back(std::move(*file));
  }
  if (archive.size() < 2 * kBlock) return Status::InvalidInput("it is cut off");
  if (!AllZero(archive)) return Status::InvalidInput("something is behind its end");
  return files;
}

}  // namespace weft::apps
