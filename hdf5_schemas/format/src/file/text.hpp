// SPDX-License-Identifier: Apache-2.0
// Text as stored in results: strings of one fixed length per dataset or attribute, padded with zeros; ASCII
// if all characters are ASCII, otherwise UTF-8. Octave reads neither variable-length strings nor UTF-8.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/results/reading/handle.hpp"

namespace farfault::results {

struct TextForm {
  std::size_t width = 1;  // bytes per string
  bool ascii = true;
};

TextForm form_of(std::span<std::string const> texts);
inline bool fits(TextForm text, TextForm into) {
  return text.width <= into.width && (text.ascii || !into.ascii);
}

Handle text_type(TextForm form);
std::vector<char> text_block(std::span<std::string const> texts, std::size_t width);

// The text with invalid UTF-8 and zero bytes replaced by U+FFFD, so that all readers can decode it.
std::string well_formed(std::string_view text);

}  // namespace farfault::results
