// SPDX-License-Identifier: Apache-2.0
// Private: a page as a whole.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "farfault/cli/extensions.hpp"

namespace farfault::cli {

// The first bytes of every report; they identify an existing report.
inline constexpr std::string_view kPageBegin =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"generator\" "
    "content=\"Farfault report\">";

struct PageSize {
  std::size_t bytes = 4'500'000;
};

// Results as one page. `extensions`: of the program, for presets. If not all runs fit, the later ones appear
// only in the comparison.
std::string report_page(std::vector<std::string> const& files, PageSize const& size = {},
                        Extensions const& extensions = {});

}  // namespace farfault::cli
