// SPDX-License-Identifier: Apache-2.0
// Private: what a page has of its own, from cli/report/: made part of the program by cli/embed_report.cmake.
#pragma once

#include <string_view>

namespace farfault::cli {

std::string_view report_script();  // the charts of uPlot, and what draws with them
std::string_view report_style();
std::string_view report_licence();  // of uPlot
// For the policy of a page: "sha256-...", of what stands between the tags.
std::string_view report_script_hash();
std::string_view report_style_hash();

}  // namespace farfault::cli
