// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/error.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

namespace farfault {

namespace {

thread_local PanicScope const* innermost = nullptr;

struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

// The first UTF-8 character of `text`; overlong forms, surrogates and codes beyond U+10FFFF are
// invalid.
Character first_character(std::string_view text) {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  auto const first = byte(0);
  if (first < 0x80) return {first, 1, true};
  auto const bytes = first < 0xc2   ? std::size_t{0}
                     : first < 0xe0 ? std::size_t{2}
                     : first < 0xf0 ? std::size_t{3}
                     : first < 0xf5 ? std::size_t{4}
                                    : std::size_t{0};
  if (bytes == 0 || bytes > text.size()) return {};
  char32_t code = first & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  auto const overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  if (overlong || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return {};
  return {code, bytes, true};
}

// True if a terminal would act on the character instead of displaying it in place.
bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

}  // namespace

PanicScope::PanicScope(Describe describe, void const* of) : describe_(describe), of_(of), outer_(innermost) {
  innermost = this;
}

PanicScope::~PanicScope() {
  innermost = outer_;
}

void panic(std::string_view what, char const* file, int line) {
  auto const where = innermost != nullptr ? ", " + innermost->describe_(innermost->of_) : std::string{};
  std::fprintf(stderr, "farfault: internal error: %.*s (%s:%d)%s\n", static_cast<int>(what.size()),
               what.data(), file, line, where.c_str());
  std::abort();
}

namespace {

// Replaces each control character with a blank, except `kept`.
std::string without_controls(std::string_view text, std::string_view kept, std::string_view invalid) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    auto const c = first_character(text);
    auto const character = text.substr(0, c.bytes);
    if (!c.valid)
      out += invalid.empty() ? character : invalid;
    else if (is_control(c.code) && character != kept)
      out += ' ';
    else
      out += character;
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace

std::string one_line(std::string_view text) {
  return without_controls(text, "", "\ufffd");
}

std::string printable(std::string_view text) {
  return without_controls(text, "\n", "");
}

std::string_view first_characters(std::string_view text, std::size_t most) {
  std::size_t end = 0;
  while (end < text.size()) {
    auto const c = first_character(text.substr(end));
    if (end + c.bytes > most) break;
    end += c.bytes;
  }
  return text.substr(0, end);
}

std::string shown(std::string_view value) {
  constexpr std::size_t kMax = 80;
  if (value.size() <= kMax) return one_line(value);
  return one_line(first_characters(value, kMax)) + "...";
}

std::string invalid_value(std::string_view name, std::string_view value, std::string_view rule) {
  std::string text(name);
  text += " = ";
  text += value;
  text += rule.starts_with("must ") ? " " : ": ";
  return text += rule;
}

// A transposition of two neighbours counts as one mistake.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace farfault
