// SPDX-License-Identifier: Apache-2.0
// Page maps: valid input, and input that is refused in one sentence.
#include "farfault/paging/page_map.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "farfault/engine/error.hpp"

namespace page_map_test {

using namespace farfault;
using namespace farfault;

namespace {

std::string refusal(std::string const& text) {
  try {
    parse_page_map(text, "f");
  } catch (UserError const& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a page map gives the device of each page in the order of the file") {
  auto const map = parse_page_map("\npage,device\r\n7,gpu3\n\n5,cpu0\r\n68719476735,m1.gpu0\n9,cpu0", "f");
  REQUIRE(map.pages.size() == 4);
  CHECK(map.pages[0].page == 7);
  CHECK(map.devices == std::vector<std::string>{"gpu3", "cpu0", "m1.gpu0"});
  CHECK(map.pages[0].device == 0);
  CHECK(map.pages[0].line == 3);
  CHECK(map.pages[1].page == 5);
  CHECK(map.pages[1].device == 1);
  CHECK(map.pages[2].device == 2);
  CHECK(map.pages[3].device == 1);
  CHECK(map.pages[1].line == 5);
  CHECK(map.pages[2].page == 68'719'476'735);
  CHECK(map.path == "f");
  CHECK(map.bytes == 56);
  CHECK(parse_page_map("page,device\n", "f").pages.empty());
  CHECK(parse_page_map("page,device\n8796093022207,gpu0", "f").pages[0].page ==
        8'796'093'022'207);  // space 127
}

TEST_CASE("the hash of a page map is that of its bytes") {
  CHECK(parse_page_map("page,device\n7,gpu3\n", "a").hash ==
        parse_page_map("page,device\n7,gpu3\n", "b").hash);
  CHECK(parse_page_map("page,device\n7,gpu3\n", "a").hash !=
        parse_page_map("page,device\n7,gpu2\n", "a").hash);
}

TEST_CASE("an invalid page map is rejected with line, value and rule") {
  CHECK(refusal("") == "f: not a page map: the heading 'page,device' is missing");
  CHECK(refusal("\n \n") == "f: not a page map: the heading 'page,device' is missing");
  CHECK(refusal("7,gpu0\n") == "f:1: the heading 'page,device' is missing");
  std::string const rule = " is not a page number below 2^43, a comma and a device, such as '1048576,gpu0'";
  for (auto const* line :
       {"7", "7,", ",gpu0", "7;gpu0", "-7,gpu0", "+7,gpu0", " 7,gpu0", "7,gpu0 ", "7,gpu0,1", "7.0,gpu0",
        "0x7,gpu0", "8796093022208,gpu0", "99999999999999999999,gpu0", "7,gpu 0"})
    CHECK(refusal("page,device\n1,gpu0\n" + std::string(line) + "\n") ==
          "f:3: '" + std::string(line) + "'" + rule);
  CHECK(refusal("page,device\n" + std::string(100'000, '7')).size() < 400);
  CHECK(refusal("page,device\n7," + std::string(255, 'g')) == "accepted");
  CHECK(refusal("page,device\n7," + std::string(256, 'g')) != "accepted");
}

TEST_CASE("a page placed twice by a map is rejected with both lines") {
  CHECK(refusal("page,device\n7,gpu0\n8,gpu0\n7,gpu0\n8,gpu1\n") ==
        "f:4: page 7 is already placed by line 2; a page can be placed only once");
}

TEST_CASE("a missing page map is rejected") {
  CHECK_THROWS_WITH_AS(load_page_map("no/such/file.csv"), "no/such/file.csv: no such file", UserError);
}

}  // namespace page_map_test
