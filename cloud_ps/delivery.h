// SPDX-License-Identifier: Apache-2.0
// What one worker has delivered of one round: its gradients and statistics in a buffer of the
// server's part of the model, and which slices of it are complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "net/range_set.h"

namespace weft::ps {

// How the server's part of the model is cut into slices, which are summed and sent on one by one.
class SliceTable {
 public:
  // `ends` rise and end with the number of floats.
  explicit SliceTable(std::vector<uint64_t> ends);

  int count() const { return static_cast<int>(ends_.size()); }
  int64_t floats() const { return ends_.back(); }
  net::FloatRange operator[](int slice) const {
    return {slice == 0 ? 0 : ends_[static_cast<size_t>(slice) - 1],
            ends_[static_cast<size_t>(slice)]};
  }
  // The slice that float `place` is in.
  int At(int64_t place) const;

 private:
  std::vector<int64_t> ends_;
};

class Delivery {
 public:
  // Borrows the table. The buffer is made when the first floats come.
  explicit Delivery(const SliceTable& slices);

  // Copies those of `data` that are not there yet to `range`. Returns the slices that this made
  // complete.
  std::vector<int> Take(net::FloatRange range, std::span<const std::byte> data);

  bool Complete(int slice) const { return missing_[static_cast<size_t>(slice)] == 0; }
  bool Has(net::FloatRange range) const { return got_.Covers(range); }
  // Calls missing(FloatRange) for each part of `range` that is not there yet.
  template <typename Missing>
  void ForMissing(net::FloatRange range, const Missing& missing) const {
    got_.ForMissing(range, missing);
  }
  // [floats]; null if nothing came.
  const float* floats() const { return buffer_.get(); }
  double squares = 0;  // of the gradients so far, summed

  // Forgets everything and keeps the buffer.
  void StartRound();

 private:
  const SliceTable& slices_;
  net::RangeSet got_;
  std::vector<int64_t> missing_;  // floats, by slice
  std::unique_ptr<float[]> buffer_;
};

}  // namespace weft::ps
