// SPDX-License-Identifier: Apache-2.0
#include "apps/compute/memory_budget.h"

#include "apps/compute/process_memory.h"
#include "core/byte_size.h"

namespace weft::apps {

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
