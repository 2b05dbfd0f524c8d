// SPDX-License-Identifier: Apache-2.0
// An initially empty folder, removed at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

class Scratch {
 public:
  Scratch() {
    auto pattern = (std::filesystem::temp_directory_path() / "farfault-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  Scratch(Scratch const&) = delete;
  Scratch& operator=(Scratch const&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(std::string const& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};
