// SPDX-License-Identifier: Apache-2.0
// A control group of a test's own that allows so much memory and no swap, in either version of
// Linux's interface. Gone with the object, when what ran in it is gone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::apps {

class MemoryCgroup {
 public:
  // Where the test may not make one, usable() is false and why() tells.
  explicit MemoryCgroup(int64_t limit_bytes);
  ~MemoryCgroup();
  MemoryCgroup(const MemoryCgroup&) = delete;
  MemoryCgroup& operator=(const MemoryCgroup&) = delete;

  bool usable() const { return why_.empty(); }
  const std::string& why() const { return why_; }

  // `command`, so that it runs inside, or just runs where there is no group; its stderr goes where
  // its stdout does.
  std::vector<std::string> Inside(const std::vector<std::string>& command) const;
  // How many processes the kernel has killed in it for lack of memory.
  int64_t OomKills() const;

 private:
  std::string folder_;
  bool unified_ = false;  // version 2
  std::string why_;
};

}  // namespace weft::apps
