// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/toml.hpp"

#include <algorithm>
#include <vector>

#include "farfault/engine/error.hpp"

namespace farfault {
namespace {

struct ParserLost {};

// Throws TomlError.
void check_dots(std::string_view text) {
  constexpr int kMaxDots = 4096;
  int line = 1, dots = 0;
  for (char const c : text) {
    if (c == '\n') {
      ++line;
      dots = 0;
    } else if (c == '.' && ++dots > kMaxDots) {
      throw TomlError{line, "the line has more than " + std::to_string(kMaxDots) + " dots"};
    }
  }
}

bool parser_gets_lost_in(std::string_view text) {
  try {
    static_cast<void>(toml::parse(text));
  } catch (toml::parse_error const&) {
  } catch (ParserLost const&) {
    return true;
  }
  return false;
}

// The line at which the parser's assertion fails: the last line of the shortest text of whole lines that
// fails.
int lost_in_line(std::string_view text) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') ends.push_back(i + 1);
  ends.push_back(text.size());
  constexpr std::size_t kMaxSearched = 1 << 20;
  if (text.size() > kMaxSearched) return static_cast<int>(ends.size());
  auto const first = std::partition_point(
      ends.begin(), ends.end(), [&](std::size_t end) { return !parser_gets_lost_in(text.substr(0, end)); });
  return static_cast<int>(first - ends.begin()) + 1;
}

// Throws TomlError.
toml::table parse(std::string_view text) {
  try {
    return toml::parse(text);
  } catch (toml::parse_error const& e) {
    throw TomlError{static_cast<int>(e.source().begin.line), one_line(e.description())};
  } catch (ParserLost const&) {
    throw TomlError{lost_in_line(text), "this is not valid TOML"};
  }
}

// True if the mistake is a duplicate key on a line that can be removed without affecting the next one.
bool is_repeated_key(TomlError const& m, std::string_view line) {
  return m.why.starts_with("Error while parsing key-value pair: cannot redefine") &&
         line.find_first_of("[{") == std::string_view::npos &&
         line.find("\"\"\"") == std::string_view::npos && line.find("'''") == std::string_view::npos;
}

}  // namespace

void toml_parser_lost() {
  throw ParserLost{};
}

toml::table parse_toml(std::string_view text, std::string const& name) {
  try {
    check_dots(text);
    return parse(text);
  } catch (TomlError const& m) {
    throw UserError(name + ":" + std::to_string(m.line) + ": " + m.why);
  }
}

std::optional<toml::table> parse_toml(std::string_view text, std::vector<TomlError>& errors) {
  constexpr std::size_t kMaxReadAgain = 1 << 20;
  auto const max_repeated = text.size() > kMaxReadAgain ? 0 : 20;
  std::string rest(text);
  try {
    check_dots(text);
    for (int repeated = 0;; ++repeated) {
      try {
        return parse(rest);
      } catch (TomlError const& m) {
        std::size_t begin = 0;
        for (int line = 1; line < m.line; ++line) begin = rest.find('\n', begin) + 1;
        auto const end = std::min(rest.find('\n', begin), rest.size());
        if (repeated == max_repeated ||
            !is_repeated_key(m, std::string_view(rest).substr(begin, end - begin)))
          throw;
        errors.push_back(m);
        std::fill(rest.begin() + static_cast<std::ptrdiff_t>(begin),
                  rest.begin() + static_cast<std::ptrdiff_t>(end), ' ');
      }
    }
  } catch (TomlError const& m) {
    errors.push_back(m);
    return std::nullopt;
  }
}

}  // namespace farfault
