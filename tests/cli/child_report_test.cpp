// SPDX-License-Identifier: Apache-2.0
#include "sweep/child_report.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace child_report_test {

using namespace farfault::cli;

TEST_CASE("child report: the parent reads the share and the sentence that its child recorded") {
  ChildReport const report;
  CHECK(report.share().before == 0);
  CHECK(report.share().now == 0);
  CHECK(report.sentence() == "");
  auto const pid = ::fork();
  if (pid == 0) {
    report.record(RunShare{0.25, 0.5});
    report.record("the first");
    report.record("stopped");
    ::_exit(0);
  }
  REQUIRE(pid > 0);
  int status = -1;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(status == 0);
  CHECK(report.share().before == 0.25);
  CHECK(report.share().now == 0.5);
  CHECK(report.sentence() == "stopped");
}

TEST_CASE("child report: a sentence is truncated after 1,000 bytes") {
  ChildReport const report;
  report.record(std::string(999, 'a') + "bc");
  CHECK(report.sentence() == std::string(999, 'a') + "b");
}

}  // namespace child_report_test
