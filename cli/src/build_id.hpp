// SPDX-License-Identifier: Apache-2.0
// Private: which build of the program this is.
#pragma once

#include <string>

namespace farfault::cli {

// The linker's fingerprint of the running program in hexadecimal digits, or nothing where it left none.
std::string build_id();

}  // namespace farfault::cli
