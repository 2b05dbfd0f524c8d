// SPDX-License-Identifier: Apache-2.0
#include "checked_results.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <sstream>
#include <string_view>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/results/digest.hpp"
#include "places.hpp"

namespace farfault::cli {
namespace {

constexpr std::size_t kMaxOfFile = std::size_t{1} << 26;

}  // namespace

CheckedResults::CheckedResults(std::string const& folder) : folder_(folder) {
  std::istringstream file(first_bytes(checked_path(folder), kMaxOfFile));
  std::string line;
  if (!std::getline(file, line) || line != kCheckedHead) return;
  while (std::getline(file, line))
    if (auto const tab = line.find('\t'); tab != line.npos)
      stamps_[line.substr(0, tab)] = line.substr(tab + 1);
}

// Empty if the file does not exist.
std::string CheckedResults::stamp_of(std::string const& name) const {
  struct stat s {};
  if (::stat(result_path(folder_, name).c_str(), &s) != 0) return {};
  constexpr std::int64_t kSecond = 1'000'000'000;
  return fmt::format("{} {} {} {}", s.st_ino, s.st_size, s.st_mtim.tv_sec * kSecond + s.st_mtim.tv_nsec,
                     s.st_ctim.tv_sec * kSecond + s.st_ctim.tv_nsec);
}

bool CheckedResults::is_unchanged(std::string const& name, std::string const& digest) {
  auto const stamp = stamp_of(name);  // before it is read: a later change has another one
  auto const known = stamps_.find(name);
  if (known != stamps_.end() && known->second == stamp) return true;
  if (results::result_digest(result_path(folder_, name)) != digest) return false;
  stamps_[name] = stamp;
  return true;
}

void CheckedResults::made(std::string const& name) {
  stamps_[name] = stamp_of(name);
}

void CheckedResults::write() const {
  std::string text(kCheckedHead);
  for (auto const& [name, stamp] : stamps_) text += "\n" + name + "\t" + stamp;
  try {
    write_whole(checked_path(folder_), text + "\n");
  } catch (std::exception const&) {
  }
}

}  // namespace farfault::cli
