// SPDX-License-Identifier: Apache-2.0
#include "apps/enrolment/device_bundle.h"

#include <cstdio>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "apps/enrolment/private_files.h"
#include "apps/enrolment/ustar.h"

namespace weft::apps {
namespace {

constexpr size_t kMostFileBytes = 64 << 10;

// The configuration with its three paths in `folder`; each must be there once.
Result<std::string> PointedInto(const std::string& config, const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> paths = {
      {"ca = ", kAuthorityName}, {"cert = ", kCertificateName}, {"key = ", kKeyName}};
  std::istringstream lines(config);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    for (auto path = paths.begin(); path != paths.end(); ++path) {
      if (!line.starts_with(path->first)) continue;
      line = path->first + TomlText(folder + "/" + path->second);
      paths.erase(path);
      break;
    }
    text += line + "\n";
  }
  if (!paths.empty()) {
    return Status::InvalidInput(std::string("its ") + kConfigName +
                                " is not one that `weft cluster add` wrote");
  }
  return text;
}

}  // namespace

std::string TomlText(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += std::string("\\") + c;
    } else if (byte < 0x20 || byte == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04X", byte);
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string PackBundle(const DeviceBundle& bundle, int64_t time_s) {
  return WriteUstar({{kConfigName, bundle.config},
                     {kAuthorityName, bundle.authority},
                     {kCertificateName, bundle.certificate},
                     {kKeyName, bundle.key}},
                    time_s);
}

Result<DeviceBundle> UnpackBundle(std::string_view archive) {
  Result<std::vector<TarFile>> files = ReadUstar(archive, kMostFileBytes);
  if (!files.ok()) return files.status();
  DeviceBundle bundle;
  const std::pair<const char*, std::string*> parts[] = {{kConfigName, &bundle.config},
                                                        {kAuthorityName, &bundle.authority},
                                                        {kCertificateName, &bundle.certificate},
                                                        {kKeyName, &bundle.key}};
  for (TarFile& file : *files) {
    std::string* place = nullptr;
    for (const auto& [name, part] : parts) {
      if (file.name == name && part->empty()) place = part;
    }
    if (place == nullptr || file.content.empty()) {
      return Status::InvalidInput(
          "it holds a file that is no part of a bundle, or is there twice, or is empty");
    }
    *place = std::move(file.content);
  }
  for (const auto& [name, part] : parts) {
    if (part->empty()) return Status::InvalidInput(std::string("it holds no ") + name);
  }
  if (Result<std::string> config = PointedInto(bundle.config, kDeviceFolder); !config.ok()) {
    return config.status();
  }
  return bundle;
}

Status InstallBundle(const DeviceBundle& bundle, const std::string& folder,
                     const std::string& user) {
  std::error_code ignored;
  std::filesystem::path path = std::filesystem::absolute(folder, ignored).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // it was written with a slash at its end
  const std::string place = path.string();
  const std::optional<Owner> owner = OwnerNamed(user);
  Result<std::string> config = PointedInto(bundle.config, place);
  if (!config.ok()) return config.status();
  if (Status status = MakeFolder(place, 0700, owner); !status.ok()) return status;
  const std::string config_path = place + "/" + kConfigName;
  const Result<std::string> before = ReadSmallFile(config_path, 1 << 20);
  if (before.ok() && *before != *config) {
    const Status kept = WritePrivate(config_path + ".old", *before, owner);
    if (!kept.ok()) return kept;
  }
  // The configuration last: once it is there, so are the others.
  const std::pair<const char*, const std::string*> files[] = {
      {kAuthorityName, &bundle.authority},
      {kCertificateName, &bundle.certificate},
      {kKeyName, &bundle.key},
      {kConfigName, &*config}};
  for (const auto& [name, content] : files) {
    Status status = WritePrivate(place + "/" + name, *content, owner);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace weft::apps
