// SPDX-License-Identifier: Apache-2.0
// A study of small runs for tests of `farfault sweep`, in its own folder.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "capture.hpp"

namespace farfault::cli {

inline std::string content(std::filesystem::path const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<std::string> lines_of(std::string const& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

inline std::vector<std::string> cells_of(std::string const& line) {
  std::vector<std::string> cells{""};
  bool quoted = false;
  for (char const c : line)
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  return cells;
}

// A separate folder for each test, initially empty.
inline std::filesystem::path fresh(std::string const& name) {
  auto const folder = std::filesystem::path(FARFAULT_BINARY_DIR) / "sweep_test" / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

inline constexpr char const* kSmall =
    "base = \"paper-gmmu-bypass\"\n"
    "[config]\n"
    "gpu.sms = 2\n"
    "workload.name = \"stream\"\n"
    "workload.stream.bytes = \"8 KiB\"\n"
    "[sweep]\n"
    "output = \"out\"\n";

struct SmallStudy {
  std::filesystem::path folder;
  std::string file;
  std::filesystem::path out;

  SmallStudy(std::string const& name, std::string const& rest) : folder(fresh(name)) {
    file = (folder / "study.toml").string();
    out = folder / "out";
    write(rest);
  }
  void write(std::string const& rest) const { std::ofstream(file, std::ios::binary) << kSmall << rest; }
  Called sweep(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"sweep", file, "--progress", "off"};
    words.insert(words.end(), more.begin(), more.end());
    return farfault_program(words);
  }
  std::string error(std::vector<std::string> const& more = {}) const {
    auto const r = sweep(more);
    CHECK(r.code == 2);
    CHECK(r.out == "");
    CHECK_FALSE(std::filesystem::exists(out));
    CHECK(r.err.starts_with("farfault: "));
    return r.err.substr(std::min<std::size_t>(r.err.size(), 10));
  }
  std::string csv() const { return content(out / "sweep.csv"); }
  // The values of a column, in the order of the runs.
  std::vector<std::string> column(std::string const& name) const {
    auto const lines = lines_of(csv());
    REQUIRE(!lines.empty());
    auto const names = cells_of(lines[0]);
    auto const at = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    REQUIRE(at < names.size());
    std::vector<std::string> values;
    for (std::size_t line = 1; line < lines.size(); ++line) values.push_back(cells_of(lines[line]).at(at));
    return values;
  }
  std::size_t results() const {
    std::size_t n = 0;
    for (auto const& entry : std::filesystem::directory_iterator(out / "runs"))
      if (entry.path().extension() == ".h5") ++n;
    return n;
  }
  // The time at which each result was written.
  std::map<std::string, std::filesystem::file_time_type> times() const {
    std::map<std::string, std::filesystem::file_time_type> all;
    for (auto const& entry : std::filesystem::directory_iterator(out / "runs"))
      all[entry.path().filename().string()] = std::filesystem::last_write_time(entry.path());
    return all;
  }
};

constexpr char const* kTwoByTwo =
    "[sweep.grid]\n"
    "gpu.l2_tlb.entries = [64, 512]\n"
    "workload.stream.bytes = [\"8 KiB\", \"16 KiB\"]\n";

using Words = std::vector<std::string>;

constexpr char const *kOfAnotherProgram = "the existing result is from a different farfault version",
                     *kOfAnotherConfiguration =
                         "the existing result is from a different configuration or input file",
                     *kNotEnded = "the existing result is incomplete";

}  // namespace farfault::cli
