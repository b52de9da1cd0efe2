// SPDX-License-Identifier: Apache-2.0
// All that a device needs to join, in one file: DEVICE.tar with its configuration, its certificate
// and key, and whom to trust.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"

namespace weft::apps {

// The files' names, in the bundle and on the device.
inline constexpr const char* kConfigName = "edge.toml";
inline constexpr const char* kAuthorityName = "ca.crt";
inline constexpr const char* kCertificateName = "device.crt";
inline constexpr const char* kKeyName = "device.key";

// Where they go unless somebody says otherwise.
inline constexpr const char* kDeviceFolder = "/etc/weft";

struct DeviceBundle {
  std::string config;     // for `weft-edge train --config`, with paths in kDeviceFolder
  std::string authority;  // PEM, as the next two
  std::string certificate;
  std::string key;
};

// A string as TOML writes it, with its quotes.
std::string TomlText(std::string_view text);

std::string PackBundle(const DeviceBundle& bundle, int64_t time_s);
// InvalidInput, with what is wrong, for anything but the four files, each once and not too large.
Result<DeviceBundle> UnpackBundle(std::string_view archive);

// Puts the files into `folder`, which is made if need be, for the owner's eyes only: root gives
// them to `user` if there is one. The configuration then points there; another one that was there
// is kept as edge.toml.old. Unavailable if it cannot be written.
Status InstallBundle(const DeviceBundle& bundle, const std::string& folder,
                     const std::string& user);

}  // namespace weft::apps
