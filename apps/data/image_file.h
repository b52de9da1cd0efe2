// SPDX-License-Identifier: Apache-2.0
// Decodes a JPEG or PNG file, whatever its colours, to red, green and blue bytes. Which of the two
// it is, its first bytes say, not its name.
#pragma once

#include <cstdint>
#include <span>

#include "core/status.h"
#include "core/train/dataset.h"

namespace weft::apps {

// Grey becomes three equal channels, CMYK is read as Adobe writes it (inverted), transparency
// shows black behind. A JPEG whose shorter side would stay at 512 pixels or more is decoded at a
// half, a quarter or an eighth of its size, which is cheaper and smooth; its orientation tag is
// not followed. A file that its library finds damaged, a cut JPEG included, is refused; so is an
// image of more than 32 megapixels.
Status DecodeImage(std::span<const uint8_t> file, train::Image& image);

}  // namespace weft::apps
