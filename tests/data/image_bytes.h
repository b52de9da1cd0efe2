// SPDX-License-Identifier: Apache-2.0
// Writes JPEG and PNG files into memory, for tests that read them back.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::apps {

// `pixels` holds height * width of them, each of the format's bytes.
std::vector<uint8_t> JpegBytes(const std::vector<uint8_t>& pixels, int width, int height,
                               int tj_format, int tj_subsampling);
std::vector<uint8_t> PngBytes(const void* pixels, int width, int height, uint32_t png_format);

}  // namespace weft::apps
