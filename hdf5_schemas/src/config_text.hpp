#pragma once

#include <string>

#include "handle.hpp"

namespace farfault::results {

// /config/toml of the file to which `object` belongs, without the parameters that name input files
// (/config/inputs/parameter): what the run was, however its files are called. Throws Hdf5Failure where there
// is no such text.
std::string config_without_file_names(hid_t object);

}  // namespace farfault::results
