// SPDX-License-Identifier: Apache-2.0
#include "apps/compute/process_memory.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace weft::apps {

int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t all_pages = 0;
  int64_t resident_pages = 0;
  statm >> all_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

int64_t PeakResidentBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{1024} * usage.ru_maxrss;
}

void ReturnFreedMemory() {
  constexpr int kBigBlock = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, kBigBlock);
}

}  // namespace weft::apps
