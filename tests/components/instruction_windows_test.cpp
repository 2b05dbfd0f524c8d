// SPDX-License-Identifier: Apache-2.0
// Lines of 64 bytes; a code begins at 1 MiB.
#include "farfault/compute/instruction_windows.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <map>
#include <utility>

namespace instruction_windows_test {

using namespace farfault;

namespace {

constexpr VirtAddr kFirst = 1 << 20;
constexpr unsigned kLineBits = 6;
using Lines = std::vector<std::uint64_t>;

struct Asker {
  explicit Asker(std::uint32_t lines, std::uint32_t bytes = 1 << 20) : windows(2, lines, kLineBits) {
    windows.start(0, {kFirst, bytes}, 0);
  }
  // The lines that are requested now.
  Lines ask(std::uint32_t context = 0) {
    Lines lines;
    while (auto const request = windows.ask(context)) {
      lines.push_back((request->line - kFirst) >> kLineBits);
      numbers[{context, lines.back()}].push_back(request->number);
    }
    return lines;
  }
  // The oldest outstanding request for the line.
  void arrived(std::uint64_t line, std::uint32_t context = 0) {
    auto& requests = numbers.at({context, line});
    windows.arrived(context, requests.front());
    requests.pop_front();
  }
  InstructionWindows windows;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::deque<std::uint16_t>> numbers;
};

}  // namespace

TEST_CASE("instruction windows: a warp requests its first lines, and issues when the first one has arrived") {
  Asker a(3);
  CHECK(a.ask() == Lines{0, 1, 2});
  CHECK(a.ask() == Lines{});
  a.arrived(1);
  CHECK_FALSE(a.windows.has_next(0));
  CHECK(a.ask() == Lines{});
  a.arrived(0);
  CHECK(a.windows.has_next(0));
}

TEST_CASE("instruction windows: a line is requested for each line that the warp has left") {
  Asker a(2);
  a.ask();
  a.arrived(0);
  a.arrived(1);
  a.windows.advance(0, 7);
  CHECK(a.ask() == Lines{});
  CHECK(a.windows.has_next(0));
  a.windows.advance(0, 1);
  CHECK(a.windows.at(0) == 64);
  CHECK(a.windows.has_next(0));
  CHECK(a.ask() == Lines{2});
  a.windows.advance(0, 8);
  CHECK_FALSE(a.windows.has_next(0));
  CHECK(a.ask() == Lines{3});
  a.arrived(2);
  CHECK(a.windows.has_next(0));
}

TEST_CASE(
    "instruction windows: the step after a group waits for all lines of the group, which arrive in any "
    "order") {
  Asker a(2);
  a.ask();
  a.arrived(0);
  a.windows.advance(0, 4 * 8);  // lines 0 to 3
  CHECK(a.ask() == Lines{2});
  a.arrived(2);
  CHECK(a.ask() == Lines{});  // line 1 is still missing
  a.arrived(1);
  CHECK(a.ask() == Lines{3, 4});
  a.arrived(4);
  CHECK_FALSE(a.windows.has_next(0));
  a.arrived(3);
  CHECK(a.windows.has_next(0));
}

TEST_CASE(
    "instruction windows: nothing is requested behind the end of the code, after which the first line "
    "follows") {
  Asker a(4, 100);
  CHECK(a.ask() == Lines{0, 1});
  a.arrived(0);
  a.arrived(1);
  a.windows.advance(0, 12);
  CHECK(a.windows.has_next(0));
  CHECK(a.ask() == Lines{});
  a.windows.advance(0, 1);
  CHECK(a.windows.at(0) == 4);
  CHECK_FALSE(a.windows.has_next(0));
  CHECK(a.ask() == Lines{0, 1});
}

TEST_CASE("instruction windows: nothing follows the end of a code that does not repeat, but a jump back") {
  Asker a(4);
  a.windows.start(0, {kFirst, 100, 8, 0}, 0);
  CHECK(a.ask() == Lines{0, 1});
  a.arrived(0);
  a.arrived(1);
  a.windows.advance(0, 13);
  CHECK(a.windows.at(0) == 100);
  CHECK(a.ask() == Lines{});
  a.windows.jump(0, 8);
  CHECK(a.ask() == Lines{0, 1});
}

TEST_CASE("instruction windows: what has issued has arrived when the last line of a group has") {
  Asker a(2);
  a.windows.start(0, {kFirst, 272, 16, 0}, 0);
  CHECK(a.ask() == Lines{0, 1});
  a.arrived(0);
  a.windows.advance(0, 10);  // to offset 160, in line 2
  CHECK(a.ask() == Lines{2});
  a.arrived(1);
  CHECK_FALSE(a.windows.has_issued(0));
  a.arrived(2);
  CHECK(a.windows.has_issued(0));
  a.windows.advance(0, 6);  // to offset 256, the end of line 3
  CHECK(a.ask() == Lines{3, 4});
  CHECK_FALSE(a.windows.has_issued(0));
  a.arrived(3);
  CHECK(a.windows.has_issued(0));
  CHECK_FALSE(a.windows.has_next(0));
}

TEST_CASE("instruction windows: the line of a late response is not taken for another one, 4 MiB away") {
  Asker a(2, 1 << 24);
  CHECK(a.ask() == Lines{0, 1});
  a.windows.jump(0, 1 << 22);
  a.arrived(1);
  CHECK(a.ask() == Lines{1 << 16});
  a.arrived(0);
  CHECK_FALSE(a.windows.has_next(0));
  for (std::uint64_t line = 1 << 16; line < (1 << 16) + 40; ++line) {
    CHECK_FALSE(a.windows.has_next(0));
    a.arrived(line);
    CHECK(a.windows.has_next(0));
    a.windows.advance(0, 8);
    a.ask();
  }
}

TEST_CASE("instruction windows: a code of almost 4 GiB has an end") {
  Asker a(2);
  a.windows.start(0, {kFirst, ~0U - 1, 8, 0}, ~0U - 9);
  CHECK(a.ask() == Lines{(1 << 26) - 1});
}

TEST_CASE("instruction windows: a jump within the window keeps its lines; any other one begins a window") {
  Asker a(4);
  a.ask();
  for (auto const line : {0, 1, 2}) a.arrived(static_cast<std::uint64_t>(line));
  a.windows.jump(0, 64);
  CHECK(a.windows.has_next(0));
  CHECK(a.ask() == Lines{4});
  a.windows.jump(0, 3 * 64);
  CHECK_FALSE(a.windows.has_next(0));
  CHECK(a.ask() == Lines{5, 6});
  a.arrived(3);
  a.windows.jump(0, 3 * 64 + 8);
  CHECK(a.windows.has_next(0));
  a.windows.jump(0, 3 * 64);  // back, in the same line
  CHECK(a.windows.has_next(0));
  CHECK(a.ask() == Lines{});
  a.windows.jump(0, 64);
  CHECK_FALSE(a.windows.has_next(0));
  CHECK(a.ask() == Lines{1});  // lines 4, 5 and 6 are outstanding
  a.windows.jump(0, 100 * 64);
  CHECK(a.ask() == Lines{});
  a.arrived(4);
  CHECK(a.ask() == Lines{100});
}

TEST_CASE(
    "instruction windows: requests of an earlier window leave less room, and their lines do not count") {
  Asker a(2);
  a.ask();
  a.windows.jump(0, 10 * 64);
  a.windows.jump(0, 0);
  CHECK(a.ask() == Lines{});
  a.arrived(0);
  CHECK_FALSE(a.windows.has_next(0));  // not requested by this window
  CHECK(a.ask() == Lines{0});
  a.arrived(1);
  CHECK(a.ask() == Lines{1});
  a.arrived(0);
  CHECK(a.windows.has_next(0));
}

TEST_CASE("instruction windows: a warp that has ended requests nothing, also when its lines arrive") {
  Asker a(2);
  a.ask();
  a.arrived(0);
  a.windows.advance(0, 8);
  a.windows.end(0);
  CHECK(a.ask() == Lines{});  // line 2, of a warp that goes on
  a.arrived(1);
  CHECK(a.ask() == Lines{});
  a.windows.start(0, {kFirst, 1 << 20}, 0);
  CHECK(a.ask() == Lines{0, 1});
  a.windows.end(0);
  a.windows.start(0, {kFirst + (1 << 16), 1 << 20}, 0);
  CHECK(a.ask() == Lines{});
  a.arrived(0);  // of the warp that has ended
  CHECK_FALSE(a.windows.has_next(0));
  CHECK(a.ask() == Lines{1 << 10});
}

TEST_CASE("instruction windows: each warp has its own window") {
  Asker a(1);
  a.windows.start(1, {kFirst, 1 << 20}, 128);
  CHECK(a.ask(1) == Lines{2});
  CHECK(a.ask(0) == Lines{0});
  a.arrived(0, 0);
  CHECK(a.windows.has_next(0));
  CHECK_FALSE(a.windows.has_next(1));
}

}  // namespace instruction_windows_test
