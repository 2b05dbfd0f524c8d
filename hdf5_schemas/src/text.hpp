// SPDX-License-Identifier: Apache-2.0
// Text as this folder stores it: strings of one fixed length per dataset or attribute, padded with zeros;
// ASCII where every character is, else UTF-8. Octave reads neither variable-length strings nor UTF-8 ones.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "handle.hpp"

namespace farfault::results {

struct TextForm {
  std::size_t width = 1;  // bytes of one string
  bool ascii = true;
};

TextForm form_of(std::span<std::string const> texts);
inline bool fits(TextForm text, TextForm into) {
  return text.width <= into.width && (text.ascii || !into.ascii);
}

Handle text_type(TextForm form);
std::vector<char> text_block(std::span<std::string const> texts, std::size_t width);

// The text with whatever is not UTF-8, and every zero byte, replaced by U+FFFD: what readers can be trusted
// to decode.
std::string well_formed(std::string_view text);

}  // namespace farfault::results
