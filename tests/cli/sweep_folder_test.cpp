// SPDX-License-Identifier: Apache-2.0
// The files in its folder that a sweep may replace, and the links that it follows.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "small_study.hpp"

namespace sweep_folder_test {

namespace fs = std::filesystem;
using namespace farfault::cli;

TEST_CASE("sweep: files that no sweep has written are never overwritten") {
  SmallStudy const s("foreign", "seeds = 1\n");
  fs::create_directories(s.out);
  std::ofstream(s.out / "sweep.csv") << "mine";
  auto r = s.sweep();
  CHECK(r.code == 2);
  CHECK(r.err == "farfault: the sweep would overwrite '" + (s.out / "sweep.csv").string() +
                     "', which no sweep has written\n");
  CHECK(content(s.out / "sweep.csv") == "mine");
  fs::remove(s.out / "sweep.csv");
  std::ofstream(s.out / "sweep.h5") << "mine";
  r = s.sweep();
  CHECK(r.code == 2);
  CHECK(content(s.out / "sweep.h5") == "mine");
  fs::remove_all(s.out);
  std::ofstream(s.out) << "a file";
  r = s.sweep();
  CHECK(r.err ==
        "farfault: cannot write the results of the sweep to '" + s.out.string() + "': it is not a folder\n");
}

TEST_CASE("sweep: a foreign file in the sweep's folder is kept, whatever its name") {
  SmallStudy const s("foreign_names", "seeds = 1\n");
  fs::create_directories(s.out / "runs");
  for (std::string const name : {"sweep.csv", "sweep_spread.csv", "sweep_means.csv", "sweep.runs",
                                 "sweep.checked", "sweep.sbatch", "collect.sbatch", "sweep.lock"})
    for (std::string const ending : {"", ".partial"}) {
      auto const file = s.out / (name + ending);
      std::ofstream(file) << "mine\n";
      for (auto const& options : {std::vector<std::string>{}, {"--slurm"}}) {
        auto const r = s.sweep(options);
        CHECK(r.code == 2);
        CHECK(r.err ==
              "farfault: the sweep would overwrite '" + file.string() + "', which no sweep has written\n");
        CHECK(content(file) == "mine\n");
      }
      fs::remove(file);
    }
  CHECK(fs::is_empty(s.out / "runs"));
  // Files of an earlier sweep are replaced.
  CHECK(s.sweep().code == 0);
  CHECK(s.sweep().code == 0);
}

TEST_CASE("sweep: damaged files with the names of a result and of its partial result are both replaced") {
  SmallStudy const s("two_damaged", "seeds = 1\n");
  REQUIRE(s.sweep().code == 0);
  auto const result = s.out / s.column("result")[0];
  auto const good = content(result);
  for (auto const& file : {result, fs::path(result.string() + ".partial")})
    std::ofstream(file) << "damaged\n";
  auto const r = s.sweep();
  CHECK_MESSAGE(r.code == 0, r.err);
  CHECK(content(result).size() == good.size());
}

// "Failed" files are text, and a link may lead to any file.
TEST_CASE(
    "sweep: a failure file that is a symbolic link is not read, and watch rejects a link out of the folder") {
  SmallStudy const s("linked_failure", "seeds = 1\n");
  REQUIRE(s.sweep().code == 0);
  auto const result = s.out / s.column("result")[0];
  auto failure = result;
  failure.replace_extension(".failed");
  std::ofstream(s.folder / "secret") << "farfault: secret\n";
  fs::remove(result);
  fs::create_symlink("../../secret", failure);
  auto const watched = farfault_program({"watch", "--once", s.out.string()});
  CHECK(watched.code == 2);
  CHECK((watched.out + watched.err).find("farfault: secret") == std::string::npos);
  CHECK(watched.err.find("is outside the folder of the sweep") != std::string::npos);
  s.sweep({"--collect"});
  CHECK(content(s.out / "sweep.csv").find("secret") == std::string::npos);
}

}  // namespace sweep_folder_test
