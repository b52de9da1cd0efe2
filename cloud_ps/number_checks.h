// SPDX-License-Identifier: Apache-2.0
// What a server asks of numbers it was sent, at the speed of memory.
#pragma once

#include <span>

namespace weft::ps {

// Whether none of them is an infinity or no number at all.
bool AllFinite(std::span<const float> values);

// Their squares' sum in double, in an order that depends on their count alone: the same bits on
// every machine. Cannot overflow, but is not finite if a value is not.
double SumOfSquares(std::span<const float> values);

}  // namespace weft::ps
