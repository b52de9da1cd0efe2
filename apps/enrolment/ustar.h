// SPDX-License-Identifier: Apache-2.0
// Small archives in POSIX's ustar format, which every tar reads: plain files, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace weft::apps {

struct TarFile {
  std::string name;  // without folders, at most 99 bytes
  std::string content;
};

// For their owner's eyes only, once unpacked. `time_s` is when they were written.
std::string WriteUstar(const std::vector<TarFile>& files, int64_t time_s);

// The files of `archive`, each of at most `most_bytes`. InvalidInput, with what is wrong, for
// anything that WriteUstar would not have written: folders, links, paths, damage, more behind it.
Result<std::vector<TarFile>> ReadUstar(std::string_view archive, size_t most_bytes);

}  // namespace weft::apps
