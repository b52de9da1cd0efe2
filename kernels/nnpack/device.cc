// SPDX-License-Identifier: Apache-2.0
#include "kernels/nnpack/device.h"

#include <nnpack.h>

namespace weft::nnpack {

Device::Device(int threads)
    : pool(threads > 1 ? pthreadpool_create(static_cast<size_t>(threads)) : nullptr),
      supported(nnp_initialize() == nnp_status_success) {}

}  // namespace weft::nnpack
