// SPDX-License-Identifier: Apache-2.0
#include "handbook.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

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
  auto const path = folder + "/words.tsv";
  auto const input = open_input(path);
  if (!input.file.is_open()) throw UserError("cannot read '" + path + "': " + input.why_not);
  std::istringstream lines(read_bytes(input.file, kMaxBytes));
  std::vector<std::string> places, names;
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    auto const name_end = line.find('\t');
    auto const page_end = line.find('\t', name_end + 1);
    if (name_end == line.npos || page_end == line.npos)
      throw UserError(
          path + ":" + std::to_string(number) +
          " is invalid: a line has a name, a page and a kind, separated by tabs; install the handbook again");
    auto name = line.substr(0, name_end);
    auto place = folder + "/" + line.substr(name_end + 1, page_end - name_end - 1);
    if (lower_case(name) == lower_case(word) && std::ranges::find(places, place) == places.end())
      places.push_back(std::move(place));
    names.push_back(std::move(name));
  }
  if (!places.empty()) return places;
  auto const near = nearest_name(word, names);
  throw UserError(
      "the handbook does not define '" + shown(word) + "'" +
      (near.empty() ? "; its search is in " + folder + "/search.html" : "; did you mean '" + near + "'?"));
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
