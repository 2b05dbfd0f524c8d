// SPDX-License-Identifier: Apache-2.0
#include "run_list.hpp"

#include <sstream>
#include <string_view>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "places.hpp"

namespace farfault::cli {
namespace {

// Replaces the name, which has 16 digits.
constexpr std::string_view kFailedRun = "failed";
constexpr std::size_t kMaxBytes = std::size_t{1} << 26;

}  // namespace

void write_run_list(std::string const& folder, std::vector<ListedRun> const& runs) {
  std::string text(kRunListHead);
  for (auto const& run : runs) {
    text += "\n" + (run.name.empty() ? std::string(kFailedRun) : run.name) + "\t" + one_line(run.text);
    if (run.name.empty()) text += "\t" + one_line(run.error);
  }
  write_whole(run_list_path(folder), text + "\n");
}

std::optional<std::vector<ListedRun>> read_run_list(std::string const& folder) {
  auto const path = run_list_path(folder);
  std::istringstream file(first_bytes(path, kMaxBytes));
  std::string line;
  if (!std::getline(file, line) || line != kRunListHead) return std::nullopt;
  std::vector<ListedRun> runs;
  while (std::getline(file, line)) {
    auto const tab = line.find('\t');
    if (tab == line.npos || tab == 0 || line.find('/') < tab) return std::nullopt;
    auto const name = line.substr(0, tab);
    auto const end = name == kFailedRun ? line.find('\t', tab + 1) : line.npos;
    auto& run = runs.emplace_back();
    if (name != kFailedRun) run.name = name;
    run.text = line.substr(tab + 1, end == line.npos ? end : end - tab - 1);
    if (end != line.npos) run.error = line.substr(end + 1);
  }
  return runs;
}

}  // namespace farfault::cli
