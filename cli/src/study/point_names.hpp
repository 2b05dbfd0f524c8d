// SPDX-License-Identifier: Apache-2.0
// Private: visual distinction of names in the table.
#pragma once

#include <string>
#include <string_view>

namespace farfault::cli {

// Normalizes a name to its appearance: blanks of any width become one blank, blanks at the ends and invisible
// characters are removed, letters (Latin, Greek, Cyrillic) become small. Names with equal results look alike.
std::string as_seen(std::string_view name);

// True if a name begins or ends with a blank or an invisible character, or is empty.
bool has_blank_end(std::string_view name);

}  // namespace farfault::cli
