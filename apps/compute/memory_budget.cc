// SPDX-License-Identifier: Apache-2.0
#include "apps/compute/memory_budget.h"

#include <cstdint>
#include <exception>
#include <utility>

#include "apps/compute/process_memory.h"

namespace weft::apps {

Result<size_t> ParseBytes(const std::string& text) {
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
    if (used > 0 && text.substr(used) == unit && number > 0 &&
        number * size < static_cast<double>(SIZE_MAX)) {
      return static_cast<size_t>(number * size);
    }
  }
  return Status::InvalidInput("'" + text + "' is no amount of memory; write it as 600MiB or 2GB");
}

Result<size_t> BytesLeft(const std::string& budget, size_t coming) {
  if (budget.empty()) return size_t{0};
  Result<size_t> bytes = ParseBytes(budget);
  if (!bytes.ok()) return bytes;
  // Kernels that are generated when they are prepared.
  constexpr size_t kGeneratedCode = 16 << 20;
  const size_t taken = static_cast<size_t>(ResidentBytes()) + coming + kGeneratedCode;
  if (taken >= *bytes) {
    return Status::InvalidInput("a memory budget of " + budget + " is below the " +
                                std::to_string((taken >> 20) + 1) +
                                " MiB that parameters, optimizer and the program itself take; give "
                                "more, or choose a smaller model");
  }
  return *bytes - taken;
}

}  // namespace weft::apps
