// SPDX-License-Identifier: Apache-2.0
// The digest of a result: 32 hexadecimal digits that are equal exactly when two runs gave the same answer.
//
// Covered, in the order of sorted paths: every group, dataset and attribute of the file, with its path, its
// type class, its shape and its values (numbers as 64-bit values, strings with their length), however they
// are stored. Not covered: /engine; /config/command_line; how input files are called, that is
// /config/inputs/path and, in /config/toml, the parameters that /config/inputs/parameter names (what the
// files hold is covered: /config/inputs/hash); the root attributes result_digest and
// farfault_version; the attributes DIMENSION_LIST, REFERENCE_LIST, CLASS and NAME, which only tie a dataset
// to its dimension scales. The hash is 128 bits of multiply-and-rotate mixing: it detects differences, it
// does not resist forgery. Memory is constant: datasets are read piece by piece.
#pragma once

#include <string>

namespace farfault::results {

// Throws UserError when the file cannot be read.
std::string result_digest(std::string const& path);

}  // namespace farfault::results
