// SPDX-License-Identifier: Apache-2.0
#include "core/byte_size.h"

#include <cstdint>
#include <exception>
#include <utility>

namespace weft {

namespace {

Result<double> Parse(const std::string& text, double limit) {
  static constexpr std::pair<const char*, double> kUnits[] = {{"KiB", 1024.0},
                                                              {"MiB", 1048576.0},
                                                              {"GiB", 1073741824.0},
                                                              {"kB", 1e3},
                                                              {"MB", 1e6},
                                                              {"GB", 1e9},
                                                              {"B", 1},
                                                              {"", 1}};
  size_t used = 0;
  double number = -1;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  for (const auto& [unit, size] : kUnits) {
    if (used > 0 && text.substr(used) == unit && number > 0 && number * size < limit) {
      return number * size;
    }
  }
  return Status::InvalidInput("'" + text + "' is no number of bytes; write it as 600MiB or 2GB");
}

}  // namespace

Result<size_t> ParseBytes(const std::string& text) {
  const Result<double> bytes = Parse(text, static_cast<double>(SIZE_MAX));
  if (!bytes.ok()) return bytes.status();
  return static_cast<size_t>(*bytes);
}

Result<int64_t> ParseByteCount(const std::string& text) {
  const Result<double> bytes = Parse(text, static_cast<double>(INT64_MAX));
  if (!bytes.ok()) return bytes.status();
  return static_cast<int64_t>(*bytes);
}

}  // namespace weft
