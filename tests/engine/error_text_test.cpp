// SPDX-License-Identifier: Apache-2.0
// External text in messages of the program.
#include <doctest/doctest.h>

#include <string>

#include "farfault/engine/error.hpp"

namespace error_text_test {

using namespace farfault;

TEST_CASE("no character of a name or value ends a message or affects a terminal") {
  std::string const nul("a\0b", 3);
  CHECK(std::string(UserError("'" + nul + "' is wrong").what()) == "'a b' is wrong");
  CHECK(std::string(RunError("'" + nul + "' is wrong").what()) == "'a b' is wrong");
  CHECK(std::string(UserError("\x1b[2J\x07\x7f\u202ex\u009b").what()) == " [2J   x ");
  CHECK(std::string(UserError("one\ntwo \xff \u00e4").what()) == "one\ntwo \xff \u00e4");
}

TEST_CASE("control characters of a name become spaces") {
  CHECK(one_line("a\nb\r\tc\x1b[31md\x7f") == "a b  c [31md ");
  CHECK(one_line(std::string_view("a\0b", 3)) == "a b");
  CHECK(one_line("a\u009bb\u0085c") == "a b c");                    // C1: control sequences of a terminal
  CHECK(one_line("a\u2028b\u202ec\u2066d\ufeffe") == "a b c d e");  // separators, direction marks
  CHECK(one_line("Grüße, 東京 \U0001F600\u00a0") == "Grüße, 東京 \U0001F600\u00a0");
}

TEST_CASE("bytes that are not UTF-8 become the replacement character") {
  CHECK(one_line("a\xff"
                 "b") == "a\ufffdb");
  CHECK(one_line("\x9b") == "\ufffd");  // C1 control character of an 8-bit terminal
  CHECK(one_line("\xc3") == "\ufffd");
  CHECK(one_line("\xc0\x80") == "\ufffd\ufffd");
  CHECK(one_line("\xed\xa0\x80") == "\ufffd\ufffd\ufffd");
  CHECK(one_line("\xe0\x80\xaf") == "\ufffd\ufffd\ufffd");
  CHECK(one_line("\xf4\x90\x80\x80") == "\ufffd\ufffd\ufffd\ufffd");
}

TEST_CASE("a value that violates a rule is one sentence with name, value and rule") {
  CHECK(invalid_value("cols", "3", "must be even") == "cols = 3 must be even");
  CHECK(invalid_value("ratio", "3", "an entry has 54 bits") == "ratio = 3: an entry has 54 bits");
}

TEST_CASE("a long value is truncated at a character, with three dots") {
  CHECK(shown(std::string(80, 'x')) == std::string(80, 'x'));
  CHECK(shown(std::string(1'000'000, 'x')) == std::string(80, 'x') + "...");
  CHECK(shown(std::string(79, 'x') + "é") == std::string(79, 'x') + "...");
  CHECK(shown(std::string(78, 'x') + "éé") == std::string(78, 'x') + "é...");
  CHECK(shown("two\nlines") == "two lines");
}

}  // namespace error_text_test
