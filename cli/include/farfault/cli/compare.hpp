// SPDX-License-Identifier: Apache-2.0
// `farfault compare`: several results side by side. Call it before any thread is started: files are read in
// a child process under limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace farfault::cli {

enum class CompareForm : std::uint8_t { readable, json, csv };

// Prints the differences in configuration and in outcome: figures with the largest contribution to the end
// first, then by relative difference. The readable form shows up to `most` figures of the machine and of each
// of several applications; 0: all figures, including per-GPU ones. JSON and CSV are always complete. The
// folder of a sweep represents the results of its runs.
void compare_results(std::vector<std::string> const& names, CompareForm form, std::size_t most,
                     std::ostream& out);

}  // namespace farfault::cli
