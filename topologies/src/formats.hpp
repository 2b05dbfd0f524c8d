// SPDX-License-Identifier: Apache-2.0
// Private: what the file formats of machines share. Every file of src/formats is one; it defines
//   MachineFormat farfault::topologies::NAME_format()
// where NAME is its own name.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "farfault/topologies/load.hpp"

namespace farfault::topologies {

// All of them, in the order of the alphabet; of several that a text opens like, the first one reads it.
MachineFormats const& machine_formats();

enum class Indent { none, any };

// Whether a line of the text begins with one of these.
bool opens_line(std::string_view text, std::initializer_list<std::string_view> beginnings,
                Indent indent = Indent::none);

}  // namespace farfault::topologies
