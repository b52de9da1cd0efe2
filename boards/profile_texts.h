// SPDX-License-Identifier: Apache-2.0
// The profiles as they are written in boards/*.toml, part of the program.
#pragma once

#include <span>
#include <string_view>

namespace weft::boards {

struct ProfileText {
  std::string_view name;  // the file's, without .toml
  std::string_view toml;
};

// By name. They live as long as the process.
std::span<const ProfileText> ProfileTexts();

}  // namespace weft::boards
