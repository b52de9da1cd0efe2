// SPDX-License-Identifier: Apache-2.0
#include "tests/data/image_bytes.h"

#include <png.h>
#include <turbojpeg.h>

#include <cstring>

namespace weft::apps {

std::vector<uint8_t> JpegBytes(const std::vector<uint8_t>& pixels, int width, int height,
                               int tj_format, int tj_subsampling) {
  const tjhandle jpeg = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  tjCompress2(jpeg, pixels.data(), width, 0, height, tj_format, &bytes, &size, tj_subsampling, 95,
              0);
  std::vector<uint8_t> copy(bytes, bytes + size);
  tjFree(bytes);
  tjDestroy(jpeg);
  return copy;
}

std::vector<uint8_t> PngBytes(const void* pixels, int width, int height, uint32_t png_format) {
  png_image png;
  std::memset(&png, 0, sizeof(png));
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<uint32_t>(width);
  png.height = static_cast<uint32_t>(height);
  png.format = png_format;
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&png, nullptr, &size, 0, pixels, 0, nullptr);
  std::vector<uint8_t> bytes(size);
  png_image_write_to_memory(&png, bytes.data(), &size, 0, pixels, 0, nullptr);
  bytes.resize(size);
  return bytes;
}

}  // namespace weft::apps
