// SPDX-License-Identifier: Apache-2.0
#include "handbook.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"

namespace farfault::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 24;  // of words.tsv; the handbook's has 2^17

std::string lower_case(std::string text) {
  for (auto& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

bool has_value(char const* variable) {
  auto const* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

struct DefinedName {
  std::string name;
  std::string place;
  bool operator==(DefinedName const&) const = default;
};

std::vector<DefinedName> read_names(std::string const& folder) {
  auto const path = folder + "/words.tsv";
  auto const input = open_input(path);
  if (!input.file.is_open()) throw UserError("cannot read '" + path + "': " + input.why_not);
  std::istringstream lines(read_bytes(input.file, kMaxBytes));
  std::vector<DefinedName> names;
  for (std::string line; std::getline(lines, line);) {
    auto const name_end = line.find('\t');
    auto const page_end = line.find('\t', name_end + 1);
    if (name_end == line.npos || page_end == line.npos)
      throw UserError(
          path + ":" + std::to_string(names.size() + 1) +
          " is invalid: a line has a name, a page and a kind, separated by tabs; install the handbook again");
    names.push_back(
        {line.substr(0, name_end), folder + "/" + line.substr(name_end + 1, page_end - name_end - 1)});
  }
  return names;
}

// True if `word` is the end of a key or path, or a statistic as `farfault compare` prints it: KIND_NAME.
bool abbreviates(std::string const& word, std::string const& name) {
  constexpr std::string_view kSeries = "/timeseries/";
  if (name.starts_with(kSeries)) {
    auto compared = name.substr(kSeries.size());
    std::ranges::replace(compared, '/', '_');
    if (compared == word) return true;
  }
  if (name.size() <= word.size() || !name.ends_with(word)) return false;
  auto const before = name[name.size() - word.size() - 1];
  return before == '.' || before == '/';
}

// Lower case, with a hyphen for each run of other characters than letters and digits, as Sphinx forms
// anchors.
std::string anchor_of(std::string_view name) {
  std::string anchor;
  for (char const c : lower_case(std::string(name))) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      anchor += c;
    else if (!anchor.empty() && anchor.back() != '-')
      anchor += '-';
  }
  if (anchor.ends_with('-')) anchor.pop_back();
  return anchor;
}

[[noreturn]] void refuse(std::string const& word, std::vector<DefinedName> const& names,
                         std::string const& folder) {
  std::vector<std::string> known;
  for (auto const& n : names) {
    known.push_back(n.name);
    auto const last = n.name.find_last_of("./");
    if (last != n.name.npos) known.push_back(n.name.substr(last + 1));
  }
  auto near = nearest_name(word, known);
  if (3 * edit_distance(word, near) > word.size()) near.clear();
  throw UserError("the handbook does not define '" + shown(word) + "'; " +
                  (near.empty() ? "" : "did you mean '" + near + "'? If not, ") + "the pages are in " +
                  folder + "/guide, their search is " + folder +
                  "/search.html, and farfault params --search " + shown(word) + " searches parameters");
}

}  // namespace

std::string handbook_folder(std::string const& program) {
  auto const folder = fs::path(program).parent_path();
  auto const installed = (folder.parent_path() / "share/doc/farfault/html").string();
  auto const built = (folder.parent_path() / "docs/html").string();
  for (auto const& path : {installed, built})
    if (why_not_readable(path + "/index.html").empty()) return path;
  throw UserError("the handbook is not installed: " + installed +
                  "/index.html is missing; in a source tree, docs/build builds it");
}

std::vector<std::string> handbook_places(std::string const& folder, std::string const& word) {
  auto const names = read_names(folder);
  auto const wanted = lower_case(word);
  std::vector<std::string> places;
  for (auto const& n : names)
    if (lower_case(n.name) == wanted && std::ranges::find(places, n.place) == places.end())
      places.push_back(n.place);
  if (!places.empty()) return places;
  std::vector<DefinedName> found;
  std::size_t widest = 0;
  for (auto const& n : names) {
    if (!abbreviates(wanted, lower_case(n.name)) || std::ranges::find(found, n) != found.end()) continue;
    found.push_back(n);
    widest = std::max(widest, n.name.size());
  }
  if (found.empty()) refuse(word, names, folder);
  if (found.size() == 1) return {found[0].place};
  for (auto const& n : found) places.push_back(fmt::format("{:<{}}  {}", n.name, widest, n.place));
  return places;
}

std::string parameter_page(std::string_view key) {
  // Each component of a GPU or CPU has a page: gpu.l1_tlb.compressed.ratio is on the page of gpu.l1_tlb.
  auto section = key.substr(0, key.rfind('.'));
  auto end = section.find('.');
  if (end != section.npos && (section.starts_with("gpu.") || section.starts_with("cpu.")))
    end = section.find('.', end + 1);
  section = section.substr(0, end);
  return "reference/parameters/" + anchor_of(section) + ".html#" + anchor_of(key);
}

bool open_in_browser(std::string const& page) {
  if (!has_value("DISPLAY") && !has_value("WAYLAND_DISPLAY")) return false;
  std::string command = "xdg-open";
  auto argument = page;
  char* const words[] = {command.data(), argument.data(), nullptr};
  pid_t child = 0;
  if (::posix_spawnp(&child, "xdg-open", nullptr, nullptr, words, environ) != 0) return false;
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace farfault::cli
