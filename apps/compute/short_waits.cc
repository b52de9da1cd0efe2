// SPDX-License-Identifier: Apache-2.0
#include "apps/compute/short_waits.h"

#include <unistd.h>

#include <cstdlib>

namespace weft::apps {

void ShortenWaits([[maybe_unused]] char** argv) {
#ifdef WEFT_HAS_ONEDNN                     // the only backend with OpenMP
  constexpr const char* kRounds = "1000";  // some ten microseconds
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  setenv("GOMP_SPINCOUNT", kRounds, 1);
  execv("/proc/self/exe", argv);  // returns only if it fails; then waits stay as they are
#endif
}

}  // namespace weft::apps
