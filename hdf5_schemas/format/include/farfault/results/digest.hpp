// SPDX-License-Identifier: Apache-2.0
// The digest of a result: 32 hexadecimal digits, equal if and only if two runs have the same results.
//
// - Covers, in the order of sorted paths: every group, dataset and attribute with its path, type class, shape
//   and values (numbers as 64-bit values, hashed by dataset since schema_version 3; strings with their
//   length). Storage does not matter.
// - Excludes: /engine; /config/command_line; /config/unused; names of input files, i.e. /config/inputs/path
//   and the parameters of /config/toml that /config/inputs/parameter names (their content is covered by
//   /config/inputs/hash); the root attributes result_digest and farfault_version; the attributes
//   DIMENSION_LIST, REFERENCE_LIST, CLASS and NAME, which tie datasets to dimension scales.
// - 128-bit multiply-and-rotate hash: detects differences, does not resist forgery.
// - Constant memory: datasets are read in pieces.
#pragma once

#include <string>

namespace farfault::results {

// Throws UserError when the file cannot be read.
std::string result_digest(std::string const& path);

}  // namespace farfault::results
