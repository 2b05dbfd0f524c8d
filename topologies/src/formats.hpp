// SPDX-License-Identifier: Apache-2.0
// Private: common parts of the file formats of machines. Every file of src/formats is a format; it defines
//   MachineFormat farfault::topologies::NAME_format()
// with NAME from its file name.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "farfault/topologies/load.hpp"

namespace farfault::topologies {

// All formats, in alphabetical order; a text that several formats recognize is read by the first one.
MachineFormats const& machine_formats();

enum class Indent { none, any };

// True if a line of the text begins with one of these.
bool opens_line(std::string_view text, std::initializer_list<std::string_view> beginnings,
                Indent indent = Indent::none);

}  // namespace farfault::topologies
