// SPDX-License-Identifier: Apache-2.0
#include "apps/profile/profile_file.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace weft::apps {
namespace {

using nlohmann::json;

// A profile of kMaxUnits units with long names is below this; a disk image is above.
constexpr size_t kMostBytes = 64 << 20;

// Reads fields of one JSON object and remembers the first that is wrong; what follows it reads
// as 0, so a reader can go through all fields and ask once.
class Fields {
 public:
  Fields(const json& object, std::string where, Status& first_mistake)
      : object_(object), where_(std::move(where)), mistake_(first_mistake) {}

  bool Has(const char* field) const { return object_.contains(field); }

  std::string Text(const char* field) {
    if (!Present(field, "give a string")) return "";
    const json& value = object_.at(field);
    if (value.is_string()) return value.get<std::string>();
    return Wrong(field, "must be a string"), "";
  }

  int64_t Whole(const char* field, const std::string& remedy = "give a whole number") {
    if (!Present(field, remedy)) return 0;
    const json& value = object_.at(field);
    if (value.is_number_unsigned()) {
      const uint64_t number = value.get<uint64_t>();
      if (number <= INT64_MAX) return static_cast<int64_t>(number);
      return Wrong(field, "is too large; give a whole number below 2^63"), 0;
    }
    if (value.is_number_integer()) return value.get<int64_t>();
    if (value.is_number_float()) {
      const double number = value.get<double>();
      constexpr double kExact = 9007199254740992.0;  // 2^53: below, doubles are whole numbers
      if (std::abs(number) <= kExact && number == std::floor(number)) {
        return static_cast<int64_t>(number);
      }
      const char* what = std::abs(number) > kExact ? "is too large" : "is not whole";
      return Wrong(field, std::string(what) + "; give a whole number below 2^53"), 0;
    }
    return Wrong(field, std::string("must be a number, not ") + value.type_name()), 0;
  }

  int64_t Rate(const char* field) {
    const int64_t rate = Whole(field);
    if (mistake_.ok() && (rate < 1 || rate > sched::kMaxBytesPerS)) {
      Wrong(field,
            "must be from 1 to " + std::to_string(sched::kMaxBytesPerS) + " bytes per second");
    }
    return mistake_.ok() ? rate : 1;
  }

  void Wrong(const std::string& field, const std::string& what) {
    if (mistake_.ok()) mistake_ = Status::InvalidInput(where_ + field + " " + what);
  }

 private:
  bool Present(const char* field, const std::string& remedy) {
    if (!mistake_.ok()) return false;
    if (Has(field)) return true;
    Wrong(field, "is missing; " + remedy);
    return false;
  }

  const json& object_;
  std::string where_;
  Status& mistake_;
};

sched::UnitCost ReadUnit(Fields& unit, Fields& top) {
  sched::UnitCost cost;
  cost.name = unit.Text("name");
  cost.forward_ns = unit.Whole("forward_ns");
  cost.backward_ns = unit.Whole("backward_ns");
  const bool by_bytes = unit.Has("bytes") && !unit.Has("pull_ns") && !unit.Has("push_ns");
  if (by_bytes) {
    cost.bytes = unit.Whole("bytes");
    if (cost.bytes < 0) unit.Wrong("bytes", "is negative; give a whole number of at least 0");
    const int64_t bytes = std::max<int64_t>(cost.bytes, 0);
    cost.pull_ns = sched::TransferNs(bytes, top.Rate("pull_bytes_per_s"));
    cost.push_ns = sched::TransferNs(bytes, top.Rate("push_bytes_per_s"));
    return cost;
  }
  const std::string remedy =
      "give pull_ns and push_ns, or bytes with pull_bytes_per_s and push_bytes_per_s above";
  cost.pull_ns = unit.Whole("pull_ns", remedy);
  cost.push_ns = unit.Whole("push_ns", remedy);
  cost.bytes = unit.Has("bytes") ? unit.Whole("bytes") : std::max(cost.pull_ns, cost.push_ns);
  return cost;
}

}  // namespace

Result<sched::CostProfile> ParseProfile(const std::string& text) {
  json root;
  try {
    root = json::parse(text);
  } catch (const json::parse_error& error) {
    return Status::InvalidInput("not JSON: the text goes wrong at byte " +
                                std::to_string(error.byte));
  } catch (const json::out_of_range&) {
    return Status::InvalidInput("not a profile: a number in it is beyond what a double can hold");
  }
  if (!root.is_object()) return Status::InvalidInput("not a profile: the file is no JSON object");

  Status mistake;
  Fields top(root, "", mistake);
  sched::CostProfile profile;
  if (!top.Has("units")) {
    return Status::InvalidInput("units is missing; give an array with an object per unit");
  }
  const json& units = root.at("units");
  if (!units.is_array()) return Status::InvalidInput("units must be an array");
  if (units.size() > sched::kMaxUnits) {
    return Status::InvalidInput("units has " + std::to_string(units.size()) + " entries; at most " +
                                std::to_string(sched::kMaxUnits) + " can be planned");
  }
  for (size_t i = 0; i < units.size() && mistake.ok(); ++i) {
    const std::string where = "units[" + std::to_string(i) + "]";
    if (!units[i].is_object()) return Status::InvalidInput(where + " must be an object");
    Fields unit(units[i], where + ".", mistake);
    profile.units.push_back(ReadUnit(unit, top));
  }
  profile.pull_overhead_ns = top.Whole("pull_overhead_ns");
  profile.push_overhead_ns = top.Whole("push_overhead_ns");
  profile.latency_ns = top.Whole("latency_ns");
  if (!mistake.ok()) return mistake;
  if (Status status = sched::Validate(profile); !status.ok()) return status;
  return profile;
}

Result<sched::CostProfile> ReadProfileFile(const std::string& path) {
  const Status unreadable =
      Status::NotFound("cannot read profile '" + path + "'; give an existing JSON file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable;
  std::string text;
  char block[1 << 16];
  while (file.read(block, sizeof(block)) || file.gcount() > 0) {
    text.append(block, static_cast<size_t>(file.gcount()));
    if (text.size() > kMostBytes) {
      return Status::InvalidInput(path + ": too large for a profile; at most " +
                                  std::to_string(kMostBytes >> 20) + " MiB are read");
    }
  }
  if (file.bad()) return unreadable;  // a folder, say
  Result<sched::CostProfile> profile = ParseProfile(text);
  if (!profile.ok()) return profile.status().WithContext(path);
  return profile;
}

Status WriteProfileFile(const std::string& path, const sched::CostProfile& profile) {
  json units = json::array();
  for (const sched::UnitCost& unit : profile.units) {
    units.push_back({{"name", unit.name},
                     {"bytes", unit.bytes},
                     {"forward_ns", unit.forward_ns},
                     {"backward_ns", unit.backward_ns},
                     {"pull_ns", unit.pull_ns},
                     {"push_ns", unit.push_ns}});
  }
  const json root = {{"pull_overhead_ns", profile.pull_overhead_ns},
                     {"push_overhead_ns", profile.push_overhead_ns},
                     {"latency_ns", profile.latency_ns},
                     {"units", units}};
  std::ofstream file(path);
  file << root.dump(1) << "\n";
  file.close();
  if (!file) {
    return Status::Unavailable("cannot write '" + path + "'; is the folder there and writable?");
  }
  return Status::Ok();
}

}  // namespace weft::apps
