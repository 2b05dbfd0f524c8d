// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <hdf5.h>

#include <algorithm>

namespace farfault::results {
namespace {

// Length of the UTF-8 sequence at the start of `s`; 0: invalid.
std::size_t sequence_length(std::string_view s) {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  auto const first = byte(0);
  if (first == 0) return 0;
  if (first < 0x80) return 1;
  std::size_t const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length == 0 || length > s.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  auto const second = byte(1);
  bool const overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  bool const outside = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  return overlong || outside ? 0 : length;
}

}  // namespace

TextForm form_of(std::span<std::string const> texts) {
  TextForm form;
  for (auto const& text : texts) {
    form.width = std::max(form.width, text.size());
    form.ascii = form.ascii && std::all_of(text.begin(), text.end(),
                                           [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  }
  return form;
}

Handle text_type(TextForm form) {
  Handle type(H5Tcopy(H5T_C_S1), "cannot create a string datatype");
  check(H5Tset_size(type, form.width), "cannot create a string datatype");
  check(H5Tset_strpad(type, H5T_STR_NULLPAD), "cannot create a string datatype");
  check(H5Tset_cset(type, form.ascii ? H5T_CSET_ASCII : H5T_CSET_UTF8), "cannot create a string datatype");
  return type;
}

std::vector<char> text_block(std::span<std::string const> texts, std::size_t width) {
  std::vector<char> block(texts.size() * width, '\0');
  for (std::size_t i = 0; i < texts.size(); ++i)
    std::copy(texts[i].begin(), texts[i].end(), block.begin() + static_cast<std::ptrdiff_t>(i * width));
  return block;
}

std::string well_formed(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    auto const length = sequence_length(text.substr(at));
    if (length == 0)
      result += "\xef\xbf\xbd";
    else
      result += text.substr(at, length);
    at += std::max<std::size_t>(length, 1);
  }
  return result;
}

}  // namespace farfault::results
