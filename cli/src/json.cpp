#include "farfault/cli/json.hpp"

#include <cstddef>

namespace farfault::cli {
namespace {

// The length of the UTF-8 sequence that starts at `i`, or 0 where there is none.
std::size_t utf8_length(std::string_view s, std::size_t i) {
  auto const byte = [&](std::size_t k) { return static_cast<unsigned char>(s[k]); };
  auto const first = byte(i);
  std::size_t const length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || i + length > s.size()) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if ((byte(i + k) & 0xc0) != 0x80) return 0;
  if (length >= 3) {
    auto const second = byte(i + 1);
    bool const overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    bool const outside = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
    if (overlong || outside) return 0;
  }
  return length;
}

}  // namespace

std::string json_string(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    auto const length = utf8_length(text, i);
    auto const code = static_cast<unsigned char>(text[i]);
    if (length == 0) {
      out += "\\ufffd";
      ++i;
      continue;
    }
    if (code == '"' || code == '\\') {
      out += '\\';
      out += text[i];
    } else if (code == '\n') {
      out += "\\n";
    } else if (code < 0x20) {
      out += "\\u00";
      out += kHex[code >> 4];
      out += kHex[code & 15];
    } else {
      out += text.substr(i, length);
    }
    i += length;
  }
  return out + "\"";
}

std::string json_array(std::vector<std::string> const& elements) {
  std::string out = "[";
  for (auto const& e : elements) out += (out.size() > 1 ? "," : "") + e;
  return out + "]";
}

JsonObject& JsonObject::add(std::string_view key, std::vector<std::string> const& values) {
  std::vector<std::string> quoted;
  for (auto const& v : values) quoted.push_back(json_string(v));
  return raw(key, json_array(quoted));
}

JsonObject& JsonObject::raw(std::string_view key, std::string_view json) {
  body_ += (body_.empty() ? "" : ",") + json_string(key) + ":" + std::string(json);
  return *this;
}

}  // namespace farfault::cli
