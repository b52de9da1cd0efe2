// SPDX-License-Identifier: Apache-2.0
#include "cloud_ps/delivery.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace weft::ps {

SliceTable::SliceTable(std::vector<uint64_t> ends) : ends_(ends.begin(), ends.end()) {
  assert(!ends_.empty() && std::is_sorted(ends_.begin(), ends_.end()));
}

int SliceTable::At(int64_t place) const {
  return static_cast<int>(std::upper_bound(ends_.begin(), ends_.end(), place) - ends_.begin());
}

Delivery::Delivery(const SliceTable& slices) : slices_(slices) { StartRound(); }

std::vector<int> Delivery::Take(net::FloatRange range, std::span<const std::byte> data) {
  assert(data.size() == static_cast<size_t>(range.size()) * sizeof(float));
  // Not cleared: every float is written before it is read.
  if (!buffer_) buffer_.reset(new float[static_cast<size_t>(slices_.floats())]);
  std::vector<int> completed;
  got_.Fill(range, [&](net::FloatRange part) {
    std::memcpy(buffer_.get() + part.begin,
                data.data() + static_cast<size_t>(part.begin - range.begin) * sizeof(float),
                static_cast<size_t>(part.size()) * sizeof(float));
    for (int slice = slices_.At(part.begin); slice < slices_.count(); ++slice) {
      const net::FloatRange s = slices_[slice];
      if (s.begin >= part.end) break;
      int64_t& missing = missing_[static_cast<size_t>(slice)];
      missing -= std::min(s.end, part.end) - std::max(s.begin, part.begin);
      if (missing > 0) continue;
      completed.push_back(slice);
    }
  });
  return completed;
}

void Delivery::StartRound() {
  got_.Clear();
  missing_.clear();
  for (int slice = 0; slice < slices_.count(); ++slice) missing_.push_back(slices_[slice].size());
  squares = 0;
}

}  // namespace weft::ps
