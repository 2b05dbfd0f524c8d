// SPDX-License-Identifier: Apache-2.0
#include "point_names.hpp"

#include <algorithm>
#include <utility>

namespace farfault::cli {
namespace {

using Code = char32_t;
using Range = std::pair<Code, Code>;

constexpr Range kBlanks[] = {{0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},
                             {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                             {0x205F, 0x205F}, {0x2800, 0x2800}, {0x3000, 0x3000}, {0x3164, 0x3164}};
constexpr Range kInvisible[] = {{0xAD, 0xAD},     {0x34F, 0x34F},   {0x61C, 0x61C},
                                {0x180B, 0x180E}, {0x200B, 0x200F}, {0x202A, 0x202E},
                                {0x2060, 0x206F}, {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}};
// Ranges of capital letters, and the distance to their small letters.
constexpr std::pair<Range, Code> kCapitals[] = {{{'A', 'Z'}, 32},     {{0xC0, 0xD6}, 32},
                                                {{0xD8, 0xDE}, 32},   {{0x391, 0x3A9}, 32},
                                                {{0x410, 0x42F}, 32}, {{0x400, 0x40F}, 80}};

bool within(Range const& range, Code code) {
  return code >= range.first && code <= range.second;
}
bool is_blank(Code code) {
  return std::any_of(std::begin(kBlanks), std::end(kBlanks), [&](auto const& r) { return within(r, code); });
}
bool is_invisible(Code code) {
  return std::any_of(std::begin(kInvisible), std::end(kInvisible),
                     [&](auto const& r) { return within(r, code); });
}
Code small(Code code) {
  for (auto const& [capitals, distance] : kCapitals)
    if (within(capitals, code)) return code + distance;
  return code;
}

// Decodes UTF-8, the encoding of TOML. Invalid bytes are taken one by one.
std::u32string characters(std::string_view text) {
  std::u32string all;
  for (std::size_t i = 0; i < text.size();) {
    auto const first = static_cast<unsigned char>(text[i]);
    std::size_t const more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
    Code code = more == 0 ? first : first & (0x3FU >> more);
    for (std::size_t k = 1; k <= more && i + k < text.size(); ++k)
      code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3FU);
    all += code;
    i += 1 + more;
  }
  return all;
}

}  // namespace

std::string as_seen(std::string_view name) {
  std::string seen;
  bool apart = false;
  for (auto const code : characters(name)) {
    if (is_invisible(code)) continue;
    if (is_blank(code)) {
      apart = !seen.empty();
      continue;
    }
    if (std::exchange(apart, false)) seen += " ";
    // Not for display: four bytes per character.
    auto const letter = small(code);
    for (int shift = 24; shift >= 0; shift -= 8) seen += static_cast<char>(letter >> shift & 0xFFU);
  }
  return seen;
}

bool has_blank_end(std::string_view name) {
  auto const all = characters(name);
  auto const is_no_end = [](Code code) { return is_blank(code) || is_invisible(code); };
  return all.empty() || is_no_end(all.front()) || is_no_end(all.back());
}

}  // namespace farfault::cli
