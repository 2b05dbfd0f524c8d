// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/progress.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "farfault/cli/readable.hpp"
#include "farfault/engine/error.hpp"

namespace progress_test {

using namespace farfault;
using namespace farfault::cli;

TEST_CASE("displayed values have three digits") {
  CHECK(for_people(Duration{0}) == "0 ps");
  CHECK(for_people(Duration{12'340ns}) == "12.3 us");
  CHECK(for_people(Duration{999'600ns}) == "1 ms");
  CHECK(for_people(Duration{100s}) == "100 s");
  CHECK(for_people(950.0) == "950");
  CHECK(for_people(3'214'000.0) == "3.21 M");
  CHECK(wall_time(65) == "1:05");
  CHECK(wall_time(7389) == "2:03:09");
  CHECK(wall_time(-1) == "0:00");
}

TEST_CASE("the progress mode is a word") {
  CHECK(progress_mode("auto") == ProgressMode::automatic);
  CHECK(progress_mode("on") == ProgressMode::on);
  CHECK(progress_mode("off") == ProgressMode::off);
  CHECK_THROWS_AS(progress_mode("yes"), UserError);
}

TEST_CASE("on a terminal, one line is redrawn at most four times a second and cleared at the end") {
  std::ostringstream out;
  double now = 100;
  {
    Progress p(ProgressMode::automatic, out, true, [&] { return now; });
    now = 100.2;
    p.report({Time{1us}, 10, 0.1});
    CHECK(out.str() == "");
    now = 102;
    p.report({Time{2500us}, 4'000'000, 0.25});
    CHECK(out.str() == "\r\x1b[K[######..................]  25%  2.5 ms simulated, 0:06 left, 2 M events/s");
    now = 102.1;
    p.report({Time{2600us}, 4'100'000, 0.26});
    out.str("");
    now = 103;
    p.report({Time{3ms}, 6'000'000, {}});
    CHECK(out.str() == "\r\x1b[K3 ms simulated, 2 M events/s");
    out.str("");
  }
  CHECK(out.str() == "\r\x1b[K");
}

TEST_CASE("the line on a terminal is always narrower than the terminal") {
  std::size_t columns = 60;
  std::ostringstream out;
  double now = 0;
  Progress p(
      ProgressMode::on, out, true, [&] { return now; }, [&] { return columns; });
  auto const line = [&](std::size_t width) {
    columns = width;
    out.str("");
    now += 2;
    p.report({Time{2500us}, static_cast<std::uint64_t>(now) * 2'000'000, now / (now + 6)});
    return out.str().substr(4);
  };
  CHECK(line(60) == "[##.......]  25%  2.5 ms simulated, 0:06 left, 2 M events/s");
  CHECK(line(52) == " 40%  2.5 ms simulated, 0:06 left, 2 M events/s");
  CHECK(line(40) == " 50%  2.5 ms simulated, 0:06 left");
  CHECK(line(20) == " 57%  2.5 ms simula");
  CHECK(line(1) == " ");
  for (std::size_t width = 2; width < 200; ++width) CHECK(line(width).size() < width);
}

TEST_CASE("the width is queried from a terminal, and taken from COLUMNS otherwise") {
  int const terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal >= 0) {
    winsize const size{24, 60, 0, 0};
    REQUIRE(::ioctl(terminal, TIOCSWINSZ, &size) == 0);
    CHECK(terminal_columns(terminal, "100") == 60);
    ::close(terminal);
  } else {
    MESSAGE("skipped: no terminal can be had");
  }
  CHECK(terminal_columns(-1, "60") == 60);
  CHECK(terminal_columns(-1, "wide") == 80);
  CHECK(terminal_columns(-1, nullptr) == 80);
}

TEST_CASE("in a log, dated lines are written at growing intervals") {
  std::ostringstream out;
  double now = 0;
  Progress p(ProgressMode::on, out, false, [&] { return now; });
  int lines = 0;
  for (now = 0; now <= 3600; now += 1) {
    out.str("");
    p.report({Time{1us}, 1000, 0.5});
    if (out.str().empty()) continue;
    ++lines;
    if (lines == 1) {
      CHECK(now == 10);
      // After "2000-01-01 00:00:00 ".
      CHECK(out.str().substr(20) == "farfault: 50% done, 1 us simulated, 0:10 left, 100 events/s\n");
    }
  }
  // At 10, 15, 23, 35, 53, 80, 120, 180, 270, 405, 608, 912, 1368, and then every 600 seconds.
  CHECK(lines == 16);
}

TEST_CASE("progress before a resume does not shorten the estimated remaining time") {
  std::ostringstream out;
  double now = 0;
  Progress p(ProgressMode::on, out, false, [&] { return now; });
  p.resumed(0.5);
  now = 10;
  p.report({Time{1us}, 1000, 0.5005});  // too early for an estimate
  CHECK(out.str().substr(20) == "farfault: 50% done, 1 us simulated, 100 events/s\n");
  out.str("");
  now = 20;
  p.report({Time{2us}, 2000, 0.75});
  CHECK(out.str().substr(20) == "farfault: 75% done, 2 us simulated, 0:20 left, 100 events/s\n");
}

TEST_CASE("a log has no control characters other than newlines") {
  std::ostringstream out;
  double now = 0;
  {
    Progress p(ProgressMode::automatic, out, false, [&] { return now; });
    for (now = 0; now < 100; ++now) p.report({Time{1us}, 1000, now / 100});
    p.finish();
  }
  CHECK(out.str().size() > 100);
  for (char const c : out.str()) CHECK((c == '\n' || (c >= ' ' && c <= '~')));
}

TEST_CASE("with progress off, nothing is written") {
  std::ostringstream out;
  double now = 0;
  {
    Progress p(ProgressMode::off, out, true, [&] { return now; });
    now = 1000;
    p.report({Time{1us}, 1000, 0.5});
    p.finish();
  }
  CHECK(out.str() == "");
}

}  // namespace progress_test
