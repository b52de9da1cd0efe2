// SPDX-License-Identifier: Apache-2.0
#include "apps/doctor/service_unit.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace weft::apps {
namespace {

namespace fs = std::filesystem;

// The first that has it wins; of drop-ins, the one of each name.
constexpr const char* kPlaces[] = {"/etc/systemd/system", "/run/systemd/system",
                                   "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
                                   "/lib/systemd/system"};

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

bool IsOn(const std::string& value) {
  return value == "yes" || value == "true" || value == "on" || value == "1";
}

// Where the unit's %S and %C are.
std::string Expanded(std::string text) {
  for (const auto& [specifier, folder] :
       {std::pair("%S", "/var/lib"), std::pair("%C", "/var/cache"), std::pair("%t", "/run")}) {
    if (text.starts_with(specifier)) text.replace(0, 2, folder);
  }
  return text;
}

// Adds the words of `value`; an empty one takes all back, as in systemd.
void Add(const std::string& value, const std::string& base, std::vector<std::string>& to) {
  if (value.empty()) to.clear();
  std::istringstream words(value);
  for (std::string word; words >> word;) {
    word.erase(0, word.find_first_not_of("-+"));  // "-": it need not be there
    to.push_back(base.empty() ? Expanded(word) : (fs::path(base) / word).string());
  }
}

// Of SOURCE:TARGET:OPTIONS the target.
void AddBound(const std::string& value, std::vector<std::string>& to) {
  std::vector<std::string> words;
  Add(value, "", words);
  if (value.empty()) to.clear();
  for (const std::string& word : words) {
    std::istringstream parts(word);
    std::string source;
    std::string target;
    std::getline(parts, source, ':');
    to.push_back(std::getline(parts, target, ':') ? target : source);
  }
}

void Apply(const std::string& key, const std::string& value, ServiceUnit& unit) {
  if (key == "User") unit.user = value == "root" ? "" : value;
  if (key == "WorkingDirectory") unit.working_folder = Expanded(value);
  if (key == "StateDirectory") Add(value, "/var/lib", unit.made);
  if (key == "CacheDirectory") Add(value, "/var/cache", unit.made);
  if (key == "ReadWritePaths") Add(value, "", unit.writable);
  if (key == "BindPaths" || key == "BindReadOnlyPaths") AddBound(value, unit.shown);
  if (key == "BindPaths") AddBound(value, unit.writable);
  if (key == "ProtectHome") unit.home_hidden = IsOn(value) || value == "tmpfs";
  if (key == "PrivateTmp") unit.own_tmp = IsOn(value);
  if (key == "ProtectSystem") unit.read_only = value == "strict";
  if (key == "MemoryMax") {
    int percent = 0;
    const char* const end = value.data() + value.size();
    const auto number = std::from_chars(value.data(), end, percent);
    const bool share = number.ec == std::errc{} && number.ptr != end && *number.ptr == '%';
    unit.memory_percent = share && percent < 100 ? percent : 0;
  }
}

void Read(const fs::path& file, ServiceUnit& unit) {
  std::ifstream stream(file);
  bool ours = false;
  for (std::string line; std::getline(stream, line);) {
    line = Trimmed(line);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line[0] == '[') ours = line == "[Service]";
    const size_t equals = line.find('=');
    if (!ours || equals == std::string::npos) continue;
    Apply(Trimmed(line.substr(0, equals)), Trimmed(line.substr(equals + 1)), unit);
  }
}

}  // namespace

std::optional<ServiceUnit> InstalledUnit(const std::string& name, const std::string& root) {
  ServiceUnit unit{.name = name};
  bool found = false;
  std::map<std::string, fs::path> drop_ins;  // by name, which is their order
  std::error_code error;
  for (const char* place : kPlaces) {
    const fs::path file = fs::path(root + place) / name;
    if (!found && fs::exists(file, error)) {
      Read(file, unit);
      found = true;
    }
    for (const auto& entry : fs::directory_iterator(file.string() + ".d", error)) {
      if (entry.path().extension() != ".conf") continue;
      drop_ins.emplace(entry.path().filename().string(), entry.path());
    }
  }
  for (const auto& [drop_in, file] : drop_ins) Read(file, unit);
  if (!found) return std::nullopt;
  return unit;
}

}  // namespace weft::apps
