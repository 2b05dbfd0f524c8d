// SPDX-License-Identifier: Apache-2.0
#include "sparkline.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace farfault::cli {

std::string sparkline(std::vector<double> const& values, bool blocks) {
  static constexpr std::array kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::array kDigits = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  double most = 0;
  for (auto const v : values)
    if (std::isfinite(v)) most = std::max(most, v);
  auto const levels = blocks ? kBlocks.size() : kDigits.size();
  std::string text;
  for (auto const v : values) {
    if (!std::isfinite(v)) {
      text += ' ';
      continue;
    }
    auto const share = most > 0 ? std::clamp(v / most, 0.0, 1.0) : 0.0;
    auto const level = std::min(levels - 1, static_cast<std::size_t>(share * static_cast<double>(levels)));
    text += blocks ? kBlocks[level] : kDigits[level];
  }
  return text;
}

}  // namespace farfault::cli
