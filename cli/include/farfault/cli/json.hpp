// A JSON text, written in order. Nothing is read here, and nothing is kept: add() appends.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace farfault::cli {

std::string json_string(std::string_view text);  // quoted; bytes that are no UTF-8 become U+FFFD

class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view value) { return raw(key, json_string(value)); }
  JsonObject& add(std::string_view key, char const* value) { return add(key, std::string_view(value)); }
  JsonObject& add(std::string_view key, std::integral auto value) {
    if constexpr (std::same_as<decltype(value), bool>)
      return raw(key, value ? "true" : "false");
    else
      return raw(key, std::to_string(value));
  }
  JsonObject& add(std::string_view key, JsonObject const& value) { return raw(key, value.text()); }
  JsonObject& add(std::string_view key, std::vector<std::string> const& values);
  JsonObject& raw(std::string_view key, std::string_view json);

  std::string text() const { return "{" + body_ + "}"; }

 private:
  std::string body_;
};

// Elements that are JSON already.
std::string json_array(std::vector<std::string> const& elements);

}  // namespace farfault::cli
