// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "farfault/analysis/compare.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "page.hpp"
#include "process/counted.hpp"
#include "sweep/swept_results.hpp"

namespace farfault::cli {
namespace {

std::string writing_name(std::string const& path) {
  return path + ".writing";
}

// True if the file is empty or a report, so that it may be replaced.
bool is_report(std::string const& path) {
  auto const input = open_input(path);
  return input.file.is_open() && (input.bytes == 0 || first_bytes(path, kPageBegin.size()) == kPageBegin);
}

void check_output(std::vector<std::string> const& files, std::string const& output) {
  for (auto const& file : files)
    if (same_file(file, output))
      throw UserError("the report '" + one_line(output) + "' would overwrite a result");
  check_replaceable(output);
  check_not_a_link(output);
  for (auto const& name : {output, writing_name(output)})
    if (exists(name) && !is_report(name))
      throw UserError("'" + one_line(name) +
                      "' exists and is not a Farfault report; choose another output name");
}

void write(std::string const& path, std::string const& text) {
  auto const writing = writing_name(path);
  auto const file = create_locked(writing, path);
  auto const fail = [&] {
    std::string const why = std::strerror(errno);
    std::remove(writing.c_str());
    throw RunError("cannot write '" + one_line(path) + "': " + why);
  };
  std::ofstream out(writing, std::ios::binary | std::ios::trunc);
  out << text << std::flush;
  if (!out) fail();
  out.close();
  if (!out || std::rename(writing.c_str(), path.c_str()) != 0) fail();
}

}  // namespace

void report_results(std::vector<std::string> const& names, std::string const& output,
                    Extensions const& extensions, std::ostream& out) {
  auto const files = results_of(names);
  if (files.size() > analysis::kMaxCompared)
    throw UserError(
        fmt::format("a report takes at most {} results, not {}", analysis::kMaxCompared, files.size()));
  check_output(files, output);
  auto const page = report_page(files, {}, extensions);
  write(output, page);
  out << fmt::format("{}: {:.2f} MB, {}\n", one_line(output), static_cast<double>(page.size()) / 1e6,
                     counted(files.size(), "run"));
}

}  // namespace farfault::cli
