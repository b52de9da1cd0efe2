// SPDX-License-Identifier: Apache-2.0
// Sets of processors as Linux writes them: "0-3,6".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::boards {

// Ascending, without what does not parse.
std::vector<int> ParseCpuList(std::string_view text);
std::string CpuListText(const std::vector<int>& ascending);

}  // namespace weft::boards
