// SPDX-License-Identifier: Apache-2.0
#include "xml_document.hpp"

#include <algorithm>
#include <charconv>

#include "farfault/engine/error.hpp"

namespace farfault::topologies {
namespace {

constexpr std::ptrdiff_t kMaxXmlItems = 4'000'000;

void skip_past(std::string_view& text, std::string_view end) {
  auto const at = text.find(end);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
}

}  // namespace

std::string_view xml_root_name(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (text.starts_with("<?")) {
      skip_past(text, "?>");
    } else if (text.starts_with("<!--")) {
      skip_past(text, "-->");
    } else if (text.starts_with("<!")) {
      skip_past(text, ">");
    } else {
      break;
    }
  }
  if (!text.starts_with('<')) return {};
  text.remove_prefix(1);
  return text.substr(0, text.find_first_of(" \t\r\n/>"));
}

void parse_xml(pugi::xml_document& document, std::string_view text, std::string const& where) {
  if (std::ranges::count(text, '<') + std::ranges::count(text, '=') > kMaxXmlItems) {
    throw UserError(where + ": more than " + std::to_string(kMaxXmlItems) +
                    " tags and attributes, the most that a machine file may have");
  }
  auto const result =
      document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (result) return;
  auto const offset = std::clamp<std::ptrdiff_t>(result.offset, 0, static_cast<std::ptrdiff_t>(text.size()));
  auto const line = 1 + std::count(text.begin(), text.begin() + offset, '\n');
  throw UserError(where + ":" + std::to_string(line) + ": not valid XML: " + result.description());
}

std::uint64_t xml_number(pugi::xml_node node, char const* attribute, std::uint64_t fallback,
                         std::uint64_t most, std::string const& where) {
  std::string_view const text = node.attribute(attribute).value();
  if (text.empty()) return fallback;
  std::uint64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > most) {
    throw UserError(where + ": <" + node.name() + "> has " + attribute + "=\"" + shown(text) +
                    "\", but it must be a whole number of at most " + std::to_string(most));
  }
  return value;
}

void check_depth(int depth, std::string const& where) {
  if (depth > kDeepestXml) {
    throw UserError(where + ": elements nest deeper than " + std::to_string(kDeepestXml) +
                    ", the most that a machine file may have");
  }
}

}  // namespace farfault::topologies
