#include "farfault/cli/json.hpp"

#include <doctest/doctest.h>

using namespace farfault::cli;

TEST_CASE("JSON is written in order, with every string escaped") {
  auto const inner = JsonObject().add("n", 3U).add("yes", true);
  CHECK(JsonObject()
            .add("a", "x\"\\\n\x01")
            .add("b", inner)
            .add("c", std::vector<std::string>{"p", "q"})
            .text() == "{\"a\":\"x\\\"\\\\\\n\\u0001\",\"b\":{\"n\":3,\"yes\":true},\"c\":[\"p\",\"q\"]}");
  CHECK(JsonObject().text() == "{}");
  CHECK(json_array({}) == "[]");
}

TEST_CASE("bytes that are no UTF-8 become the replacement character") {
  CHECK(json_string("\u00e9\U0001F600") == "\"\u00e9\U0001F600\"");
  CHECK(json_string("a\xff"
                    "b") == "\"a\\ufffdb\"");
  CHECK(json_string("\xc3") == "\"\\ufffd\"");
  CHECK(json_string("\xc0\x80") == "\"\\ufffd\\ufffd\"");
  CHECK(json_string("\xed\xa0\x80") == "\"\\ufffd\\ufffd\\ufffd\"");
}
