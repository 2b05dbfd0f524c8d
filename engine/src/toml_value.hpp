// SPDX-License-Identifier: Apache-2.0
// Private: the text of a TOML value, as stored in an entry of a configuration.
#pragma once

#include <optional>
#include <string>

#include "farfault/engine/toml.hpp"

namespace farfault {

struct TomlValue {
  std::string text;
  bool is_string = false;
};
// The value of a string, number or flag; nullopt for any other node.
std::optional<TomlValue> value_of(toml::node const& node);

}  // namespace farfault
