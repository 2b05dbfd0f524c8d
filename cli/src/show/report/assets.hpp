// SPDX-License-Identifier: Apache-2.0
// Private: scripts and styles of a page, embedded from cli/report/ by cli/embed_report.cmake.
#pragma once

#include <string_view>

namespace farfault::cli {

std::string_view report_script();  // uPlot, and the page's own script
std::string_view report_style();
std::string_view report_licence();  // of uPlot
// For the Content-Security-Policy of a page: "sha256-...", of the text between the tags.
std::string_view report_script_hash();
std::string_view report_style_hash();

}  // namespace farfault::cli
