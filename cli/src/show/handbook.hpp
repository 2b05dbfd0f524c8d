// SPDX-License-Identifier: Apache-2.0
// Private: the installed handbook (docs/), for `farfault docs`.
//
// The build of the handbook writes words.tsv next to its pages, one line for each defined name: name, page
// with anchor, kind (docs/tools/words.py).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace farfault::cli {

// The folder of the handbook of the program at `program`: PREFIX/share/doc/farfault/html of
// PREFIX/bin/farfault, or build/docs/html of build/PRESET/farfault. Throws UserError if neither has one.
std::string handbook_folder(std::string const& program);

// The places that define `word` (a parameter, statistic, command or term; case does not matter), as paths
// with anchors. For the last part or parts of names, or a statistic as `farfault compare` prints it: the
// place of the name or, of several names, a line "NAME  PLACE" for each. Throws UserError if the handbook
// does not define it.
std::vector<std::string> handbook_places(std::string const& folder, std::string const& word);

// The page and anchor of the parameter `key` in the handbook's folder, such as
// "reference/parameters/gpu-l2-tlb.html#gpu-l2-tlb-entries". The build of the handbook writes the parameters
// to these pages.
std::string parameter_page(std::string_view key);

// Shows a page in the user's browser. False without a display or xdg-open.
bool open_in_browser(std::string const& page);

}  // namespace farfault::cli
