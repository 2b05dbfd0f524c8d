#include "farfault/engine/toml.hpp"

#include <algorithm>
#include <vector>

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

bool parser_gets_lost_in(std::string_view text) {
  try {
    static_cast<void>(toml::parse(text));
  } catch (toml::parse_error const&) {
  } catch (ParserLost const&) {
    return true;
  }
  return false;
}

// The line in which the parser gets lost: the last one of the shortest text of whole lines that does it.
std::size_t lost_in_line(std::string_view text) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') ends.push_back(i + 1);
  ends.push_back(text.size());
  constexpr std::size_t kMostSearched = 1 << 20;
  if (text.size() > kMostSearched) return ends.size();
  auto const first = std::partition_point(
      ends.begin(), ends.end(), [&](std::size_t end) { return !parser_gets_lost_in(text.substr(0, end)); });
  return static_cast<std::size_t>(first - ends.begin()) + 1;
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
    throw UserError(name + ":" + std::to_string(lost_in_line(text)) + ": this is not valid TOML");
  }
}

}  // namespace farfault
