// SPDX-License-Identifier: Apache-2.0
// Private: which names a reader of the table can tell from each other.
#pragma once

#include <string>
#include <string_view>

namespace farfault::cli {

// What is seen of a name: each stretch of blanks, of whatever width, as one, none at the ends, nothing of
// what is invisible, letters (Latin, Greek, Cyrillic) as small ones. Two names that agree in it look alike.
std::string as_seen(std::string_view name);

// Whether a name begins or ends with a blank or with what is invisible; so does an empty one.
bool has_blank_end(std::string_view name);

}  // namespace farfault::cli
