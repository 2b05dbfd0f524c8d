// SPDX-License-Identifier: Apache-2.0
#include "run_list.hpp"

#include <filesystem>
#include <fstream>
#include <string_view>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "places.hpp"

namespace farfault::cli {
namespace {

constexpr std::string_view kHead = "# runs of a sweep of farfault: name of the result, what varies";
constexpr std::size_t kMostBytes = std::size_t{1} << 26;

}  // namespace

std::string run_list_path(std::string const& folder) {
  return (std::filesystem::path(folder) / "sweep.runs").string();
}

void write_run_list(std::string const& folder, std::vector<ListedRun> const& runs) {
  std::string text(kHead);
  for (auto const& run : runs) text += "\n" + run.name + "\t" + one_line(run.text);
  write_whole(run_list_path(folder), text + "\n");
}

std::optional<std::vector<ListedRun>> read_run_list(std::string const& folder) {
  auto const path = run_list_path(folder);
  if (!why_not_readable(path).empty()) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || line != kHead) return std::nullopt;
  std::vector<ListedRun> runs;
  std::size_t bytes = 0;
  while (std::getline(file, line) && (bytes += line.size()) < kMostBytes) {
    auto const tab = line.find('\t');
    if (tab == line.npos || tab == 0 || line.find('/') < tab) return std::nullopt;
    runs.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  return runs;
}

}  // namespace farfault::cli
