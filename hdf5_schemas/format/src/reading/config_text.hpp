// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "farfault/results/reading/handle.hpp"

namespace farfault::results {

// /config/toml of the file of `object`, without the parameters that name input files
// (/config/inputs/parameter): the configuration independent of file names. Throws Hdf5Failure if the text is
// missing.
std::string config_without_file_names(ObjectId object);

// The same, by line. A table of an array, [[application]], is identified by its name, which is its first key:
// application.stencil.sms.
struct ConfigLine {
  std::string parameter;  // that the line sets; empty for other lines
  std::string text;
};
std::vector<ConfigLine> config_lines_without_file_names(ObjectId object);

// The omitted lines: each parameter that names an input file, and the line that sets it.
std::vector<std::pair<std::string, std::string>> file_names(ObjectId object);

}  // namespace farfault::results
