// SPDX-License-Identifier: Apache-2.0
// A small job for tests: lenet5 on synthetic digits, computed by the reference kernels, which have
// the same bits everywhere, and what must come out of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/edge/child_process.h"
#include "tests/files/scratch_folder.h"

namespace weft::apps {

struct LenetJob {
  int workers = 4;
  int rounds = 20;
  int batch = 4;
  std::string optimizer = "sgd";

  std::vector<std::string> PsArguments(int port, const std::string& state,
                                       const std::vector<std::string>& more = {}) const;
  std::vector<std::string> EdgeArguments(int port, int worker,
                                         const std::vector<std::string>& more = {}) const;

  // The hash of the model that one process gets which computes the workers' batches one after the
  // other and adds the gradients in the workers' order.
  std::string ExpectedHash() const;
};

}  // namespace weft::apps
