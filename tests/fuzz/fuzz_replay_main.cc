// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over the files of the folders it is given, and over each of them cut short and
// with a bit flipped here and there: what fuzzing once found is looked for in every build.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

int main(int argc, char** argv) {
  int64_t runs = 0;
  int64_t files = 0;
  const auto run = [&](const std::vector<uint8_t>& bytes) {
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    ++runs;
  };
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream in(entry.path(), std::ios::binary);
      const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(in)),
                                       std::istreambuf_iterator<char>());
      ++files;
      run(bytes);
      for (size_t step = 1; step <= 8; ++step) {
        const size_t at = bytes.size() * step / 9;
        run({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at)});
        if (at >= bytes.size()) continue;
        std::vector<uint8_t> changed = bytes;
        changed[at] ^= static_cast<uint8_t>(1u << (step % 8));
        run(changed);
      }
    }
  }
  std::printf("%lld runs of %lld files\n", static_cast<long long>(runs),
              static_cast<long long>(files));
  return files > 0 ? 0 : 1;
}
