// SPDX-License-Identifier: Apache-2.0
#include "apps/files/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

namespace weft::apps {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kMetadata = "__metadata__";

struct DtypeSize {
  std::string_view name;
  uint64_t bytes;
};

constexpr DtypeSize kDtypes[] = {{"BOOL", 1},    {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1},
                                 {"F8_E4M3", 1}, {"U16", 2}, {"I16", 2}, {"F16", 2},
                                 {"BF16", 2},    {"U32", 4}, {"I32", 4}, {"F32", 4},
                                 {"U64", 8},     {"I64", 8}, {"F64", 8}};

Status MistakeOfTensor(std::string_view tensor, const std::string& what) {
  return Status::InvalidInput("tensor " + QuotedName(tensor) + " " + what);
}

// Parses, and refuses what a DOM would hide: the same key twice in one object. Nothing in a header
// is nested more than three deep, so deeper text is refused before it costs memory.
Result<json> ParseStrictly(std::string_view text) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  std::optional<Status> refusal;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (refusal) return false;
    if (depth > 3) {
      refusal = Status::InvalidInput("its header is nested too deeply");
    } else if (event == json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == json::parse_event_t::key) {
      const std::string& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) {
        refusal = Status::InvalidInput("its header has " + QuotedName(key) + " twice");
      }
    }
    return !refusal;
  };
  try {
    json parsed = json::parse(text, watch);
    if (refusal) return *refusal;
    return parsed;
  } catch (const json::parse_error& error) {
    if (refusal) return *refusal;  // it comes first in the text
    return Status::InvalidInput("its header is not JSON, from byte " + std::to_string(error.byte));
  } catch (const json::exception&) {
    return Status::InvalidInput("its header has a number that is too large");
  }
}

Status ReadMetadata(const json& object, std::map<std::string, std::string>& metadata) {
  if (!object.is_object()) return Status::InvalidInput("its __metadata__ is not an object");
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) {
      return Status::InvalidInput("its __metadata__ has " + QuotedName(key) +
                                  ", which is not a string");
    }
    metadata.emplace(key, value.get<std::string>());
  }
  return Status::Ok();
}

bool IsWholeNumber(const json& value) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= INT64_MAX;
}

// The bytes of a tensor of this shape; nullopt if there is no such number.
std::optional<uint64_t> BytesOf(const std::vector<int64_t>& shape, uint64_t element_bytes) {
  uint64_t bytes = element_bytes;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes)) return std::nullopt;
  }
  return bytes;
}

Result<SafetensorsEntry> ReadEntry(const std::string& name, const json& object) {
  if (!object.is_object()) return MistakeOfTensor(name, "is not described by an object");
  if (object.size() != 3 || !object.contains("dtype") || !object.contains("shape") ||
      !object.contains("data_offsets")) {
    return MistakeOfTensor(name, "must have dtype, shape and data_offsets, and nothing else");
  }
  SafetensorsEntry entry;
  entry.name = name;
  const json& dtype = object.at("dtype");
  const auto known = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                  [&](const DtypeSize& d) { return dtype == d.name; });
  if (known == std::end(kDtypes)) {
    return MistakeOfTensor(
        name, "has the unknown dtype " + (dtype.is_string() ? QuotedName(dtype.get<std::string>())
                                                            : std::string(dtype.type_name())));
  }
  entry.dtype = known->name;

  const json& shape = object.at("shape");
  if (!shape.is_array() || !std::all_of(shape.begin(), shape.end(), IsWholeNumber)) {
    return MistakeOfTensor(name, "has a shape that is not a list of whole numbers");
  }
  for (const json& extent : shape) entry.shape.push_back(extent.get<int64_t>());

  const json& offsets = object.at("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2 ||
      !std::all_of(offsets.begin(), offsets.end(), IsWholeNumber)) {
    return MistakeOfTensor(name, "has data_offsets that are not two whole numbers");
  }
  entry.begin = offsets[0].get<uint64_t>();
  const uint64_t end = offsets[1].get<uint64_t>();
  if (end < entry.begin) return MistakeOfTensor(name, "ends before it begins");
  entry.bytes = end - entry.begin;
  if (BytesOf(entry.shape, known->bytes) != entry.bytes) {
    return MistakeOfTensor(name, "has " + std::to_string(entry.bytes) +
                                     " bytes, which is not what " + entry.dtype + " " +
                                     entry.ShapeText() + " takes");
  }
  return entry;
}

// The entries are sorted by place.
Status CheckTiling(const std::vector<SafetensorsEntry>& entries, uint64_t data_bytes) {
  uint64_t end = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin < end) return MistakeOfTensor(entry.name, "overlaps the one before it");
    if (entry.begin > end) return MistakeOfTensor(entry.name, "leaves a gap before it");
    if (entry.bytes > data_bytes - end)
      return MistakeOfTensor(entry.name, "reaches beyond the file's end");
    end += entry.bytes;
  }
  if (end == data_bytes) return Status::Ok();
  return Status::InvalidInput(std::to_string(data_bytes - end) +
                              " bytes at its end belong to no tensor");
}

}  // namespace

uint64_t SafetensorsEntry::elements() const {
  uint64_t product = 1;
  for (const int64_t extent : shape) product *= static_cast<uint64_t>(extent);
  return product;
}

std::string SafetensorsEntry::ShapeText() const {
  // A hostile file can have a shape with a million extents.
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t i = 0; i < std::min(shape.size(), kMost); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return "[" + text + (shape.size() > kMost ? ", ...]" : "]");
}

std::string QuotedName(std::string_view name) {
  constexpr size_t kMost = 120;
  const std::string shown(name.substr(0, kMost));
  const std::string quoted =
      json(shown).dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  return name.size() > kMost ? quoted + "..." : quoted;
}

Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view text, uint64_t data_bytes) {
  if (!text.starts_with('{')) return Status::InvalidInput("its header is not a JSON object");
  Result<json> root = ParseStrictly(text);
  if (!root.ok()) return root.status();
  SafetensorsHeader header;
  for (const auto& [name, value] : root->items()) {
    if (name == kMetadata) {
      if (Status status = ReadMetadata(value, header.metadata); !status.ok()) return status;
      continue;
    }
    Result<SafetensorsEntry> entry = ReadEntry(name, value);
    if (!entry.ok()) return entry.status();
    header.entries.push_back(std::move(entry).value());
  }
  // An empty tensor goes before the one that begins at the same place.
  std::sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.bytes) < std::pair(b.begin, b.bytes);
  });
  if (Status status = CheckTiling(header.entries, data_bytes); !status.ok()) return status;
  return header;
}

std::string SafetensorsHeaderJson(const SafetensorsHeader& header) {
  ordered_json root = ordered_json::object();
  if (!header.metadata.empty()) root[kMetadata] = header.metadata;
  for (const SafetensorsEntry& entry : header.entries) {
    root[entry.name] = {{"dtype", entry.dtype},
                        {"shape", entry.shape},
                        {"data_offsets", {entry.begin, entry.begin + entry.bytes}}};
  }
  return root.dump();
}

}  // namespace weft::apps
