// SPDX-License-Identifier: Apache-2.0
// A convolution as a matrix product: the image cells that an output sees make one column, and
// output channels are the rows of weights times the columns. The outputs of a batch are worked off
// in chunks, so that the matrix of columns stays small: some whole images, or some rows of one.
#pragma once

#include <cstdint>
#include <vector>

#include "core/parallel.h"
#include "kernels/acl/window.h"

namespace weft::acl {

struct Chunk {
  int64_t image;
  int64_t images;
  int64_t row;   // of the outputs
  int64_t rows;  // all of them, if there are several images

  int64_t columns(const Geometry& g) const { return images * rows * g.w.out; }
  // Of the columns of one image.
  int64_t image_columns(const Geometry& g) const { return rows * g.w.out; }
};

// Each output is in one of them.
std::vector<Chunk> ChunksOf(const Geometry& g);

// The rows of a matrix of columns: one for each kernel cell of each input channel of a group.
inline int64_t ColumnDepth(const Geometry& g) { return g.group_in * g.taps(); }

// columns [group_in][KH][KW][chunk's outputs] from the input channels of `group`; padding is 0.
// src: [N][C][H][W].
void FillColumns(const Geometry& g, const Chunk& chunk, int64_t group, const float* src,
                 float* columns, Parallel& parallel);

// The way back: adds each column's values to the cells they came from, which are set to zero at the
// first chunk of their image. d_src: [N][C][H][W].
void AddColumns(const Geometry& g, const Chunk& chunk, int64_t group, const float* columns,
                float* d_src, Parallel& parallel);

}  // namespace weft::acl
