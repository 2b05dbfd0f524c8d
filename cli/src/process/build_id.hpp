// SPDX-License-Identifier: Apache-2.0
// Private: identifies this build of the program.
#pragma once

#include <string>

namespace farfault::cli {

// The linker's build ID of the running program in hexadecimal digits, or empty if it has none.
std::string build_id();

}  // namespace farfault::cli
