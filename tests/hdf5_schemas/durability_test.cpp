// SPDX-License-Identifier: Apache-2.0
// The remaining file after a kill or on a full disk.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "farfault/results/reader.hpp"
#include "sample.hpp"
#include "scratch.hpp"

namespace durability_test {

using namespace farfault;
using namespace farfault::results;

namespace {

template <class Body>
int in_child(Body body) {
  auto const pid = ::fork();
  if (pid == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

std::uint64_t samples_in(std::string const& path) {
  auto const summary = read_summary(path);
  if (summary.series.empty()) return 0;  // a group is created with its first samples
  REQUIRE(summary.series.size() == 3);
  return summary.series[2].samples;
}

// The file of a killed run is complete except for the digest.
void check_killed_file(std::string const& path) {
  auto const problems = validate(path);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0] == "the run did not finish: result_digest is missing");
}

// Datasets grow one after the other: the lengths within a folder may differ by the rows of the interrupted
// flush.
void check_file_killed_in_a_flush(std::string const& path) {
  std::set<std::string> folders;
  for (auto const& problem : validate(path)) {
    if (problem == "the run did not finish: result_digest is missing") continue;
    CAPTURE(problem);
    auto const end = problem.find(" does not have the ");
    REQUIRE(end != std::string::npos);
    folders.insert(problem.substr(0, problem.rfind('/', end)));
  }
  CHECK(folders.size() <= 1);
}

}  // namespace

TEST_CASE("a run killed between flushes leaves the content of the last flush") {
  Scratch dir;
  auto const path = dir / "a.h5";
  for (std::uint64_t const flushed : {0U, 1U, 7U, 200U}) {
    auto const status = in_child([&] {
      ResultWriter writer(path, sample::header());
      for (std::uint64_t i = 0; i < flushed; ++i) {
        sample::append(writer, i, i + 1);
        writer.flush();
      }
      sample::append(writer, flushed, flushed + 500);
      ::kill(::getpid(), SIGKILL);
    });
    CHECK(WIFSIGNALED(status));
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK(samples_in(path + ".partial") == flushed);
    check_killed_file(path + ".partial");
  }
}

TEST_CASE("a run killed at any moment of any flush leaves a readable file") {
  Scratch dir;
  auto const path = dir / "a.h5";
  for (int round = 0; round < 15; ++round) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    auto const pid = ::fork();
    if (pid == 0) {
      ResultWriter writer(path, sample::header());
      for (std::uint64_t i = 0;; ++i) {
        sample::append(writer, i * 3, i * 3 + 3);
        writer.flush();
        if (::write(ends[1], &i, sizeof i) != sizeof i) ::_exit(1);
      }
    }
    ::close(ends[1]);
    std::uint64_t flush = 0, last = 0;
    REQUIRE(::read(ends[0], &last, sizeof last) == sizeof last);
    std::this_thread::sleep_for(std::chrono::microseconds(10'000 + 3'377 * round));
    ::kill(pid, SIGKILL);
    while (::read(ends[0], &flush, sizeof flush) == sizeof flush) last = flush;
    ::close(ends[0]);
    ::waitpid(pid, nullptr, 0);
    auto const samples = samples_in(path + ".partial");
    CAPTURE(round);
    CHECK(samples >= (last + 1) * 3);
    CHECK(samples <= (last + 2) * 3);
    check_file_killed_in_a_flush(path + ".partial");
  }
}

TEST_CASE("a killed run can be resumed from its file, with the digest of an uninterrupted run") {
  Scratch dir;
  auto const whole = sample::write(dir / "whole.h5", 60);
  in_child([&] {
    ResultWriter writer(dir / "a.h5", sample::header());
    sample::append(writer, 0, 30);
    writer.flush();
    sample::append(writer, 30, 45);
    writer.flush();
    ::kill(::getpid(), SIGKILL);
  });
  auto writer = ResultWriter::resume(dir / "a.h5", sample::header(), {30, {10, 30}});
  sample::append(writer, 30, 60);
  sample::end(writer);
  CHECK(writer.finish("completed") == whole);
}

TEST_CASE("a result that cannot be renamed reports the reason and the remaining file") {
  Scratch dir;
  auto const path = dir / "a.h5";
  ResultWriter writer(path, sample::header());
  sample::append(writer, 0, 3);
  sample::end(writer);
  std::filesystem::create_directory(path);  // after the path was checked
  CHECK_THROWS_WITH_AS(
      writer.finish("completed"),
      ("cannot rename '" + path + ".partial' to '" + path + "': Is a directory; '" + path +
       ".partial' has the result up to the last flush; nothing was written to '" + path + "'")
          .c_str(),
      RunError);
  CHECK(validate(path + ".partial") == std::vector<std::string>{});
}

TEST_CASE("a full disk is one RunError at any point, keeps the last flush and does not change the target") {
  Scratch dir;
  sample::write(dir / "full.h5", 3000);
  auto const full = std::filesystem::file_size(dir / "full.h5");
  auto const bytes_of = [](std::string const& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  sample::write(dir / "a.h5", 3);
  auto const earlier = bytes_of(dir / "a.h5");
  int failures = 0;
  for (std::uint64_t limit = 1; limit < full; limit += full / 23) {
    auto const status = in_child([&] {
      int const log = ::open((dir / "stderr").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
      ::dup2(log, STDERR_FILENO);
      std::signal(SIGXFSZ, SIG_IGN);
      struct rlimit const size{limit, limit};
      ::setrlimit(RLIMIT_FSIZE, &size);
      int code = 1;
      try {
        ResultWriter writer(dir / "a.h5", sample::header());
        try {
          for (std::uint64_t i = 0; i < 3000; i += 50) {
            sample::append(writer, i, i + 50);
            writer.flush();
          }
          sample::end(writer);
          writer.finish("completed");
        } catch (RunError const& problem) {
          code = std::string(problem.what())
                             .find("File too large; '" + (dir / "a.h5.partial") +
                                   "' has the result up to the last flush") != std::string::npos
                     ? 7
                     : 8;
          try {
            writer.flush();
            code = 9;  // a failed writer stays failed
          } catch (RunError const&) {
          }
        }
      } catch (RunError const&) {
        code = 7;
      }
      ::_exit(code);
    });
    CAPTURE(limit);
    REQUIRE(WIFEXITED(status));
    CHECK((WEXITSTATUS(status) == 7 || limit > full / 2));
    if (WEXITSTATUS(status) == 7) ++failures;
    CHECK(std::filesystem::file_size(dir / "stderr") == 0);
    if (WEXITSTATUS(status) == 7) CHECK(bytes_of(dir / "a.h5") == earlier);
    if (limit > full / 4 * 3 && WEXITSTATUS(status) == 7) {
      CHECK(samples_in(dir / "a.h5.partial") > 0);
      check_killed_file(dir / "a.h5.partial");
    }
  }
  CHECK(failures >= 15);
}

}  // namespace durability_test
