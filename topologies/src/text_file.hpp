// SPDX-License-Identifier: Apache-2.0
// Private: a whole file as text.
#pragma once

#include <string>
#include <string_view>

namespace farfault::topologies {

// Throws UserError for what cannot be read, and for more than 64 MiB; `what` the file is, for the sentence.
std::string read_text_file(std::string const& path, std::string_view what);

}  // namespace farfault::topologies
