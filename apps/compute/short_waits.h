// SPDX-License-Identifier: Apache-2.0
// Threads that wait for each other by spinning are the fastest on an idle machine. Where something
// else runs as well, they take the processor from the very thread they wait for: a small model then
// trains thirty times slower (docs/results.md).
#pragma once

namespace weft::apps {

// To be called first in main(), with its argv: OpenMP looks at its settings only when it is loaded,
// so where its waits are neither set by the user nor short already, the program starts itself anew.
void ShortenWaits(char** argv);

}  // namespace weft::apps
