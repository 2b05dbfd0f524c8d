// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "handle.hpp"

namespace farfault::results {

// /config/toml of the file to which `object` belongs, without the parameters that name input files
// (/config/inputs/parameter): what the run was, however its files are called. Throws Hdf5Failure where there
// is no such text.
std::string config_without_file_names(hid_t object);

// The same line by line. A table of an array, [[application]], is known by its name, which stands first in
// it: application.stencil.sms.
struct ConfigLine {
  std::string parameter;  // that it sets; empty for others
  std::string text;
};
std::vector<ConfigLine> config_lines_without_file_names(hid_t object);

// What these leave out: each parameter that names an input file, and the line of the text that sets it.
std::vector<std::pair<std::string, std::string>> file_names(hid_t object);

}  // namespace farfault::results
