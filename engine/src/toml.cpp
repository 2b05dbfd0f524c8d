#include "farfault/engine/toml.hpp"

#include <algorithm>

#include "farfault/engine/error.hpp"

namespace farfault {
namespace {

struct ParserLost {};

void check_dots(std::string_view text, std::string const& name) {
  constexpr int kMostDots = 4096;
  int line = 1, dots = 0;
  for (char const c : text) {
    if (c == '\n') {
      ++line;
      dots = 0;
    } else if (c == '.' && ++dots > kMostDots) {
      throw UserError(name + ":" + std::to_string(line) + ": the line has more than " +
                      std::to_string(kMostDots) + " dots");
    }
  }
}

}  // namespace

void toml_parser_lost() {
  throw ParserLost{};
}

toml::table parse_toml(std::string_view text, std::string const& name) {
  check_dots(text, name);
  try {
    return toml::parse(text);
  } catch (toml::parse_error const& e) {
    throw UserError(name + ":" + std::to_string(e.source().begin.line) + ": " + one_line(e.description()));
  } catch (ParserLost const&) {
    throw UserError(name + ":" + std::to_string(1 + std::count(text.begin(), text.end(), '\n')) +
                    ": the text is malformed at or before this line");
  }
}

}  // namespace farfault
