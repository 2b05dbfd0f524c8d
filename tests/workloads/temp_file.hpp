// SPDX-License-Identifier: Apache-2.0
// A file in a separate folder, removed at the end of the test.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace farfault::workloads::test {

class TempFile {
 public:
  TempFile(std::string const& name, std::string const& content)
      : folder_(std::filesystem::temp_directory_path() /
                ("farfault-" + std::to_string(::getpid()) + "-" + std::to_string(next()++))),
        path_((folder_ / name).string()) {
    std::filesystem::create_directories(folder_);
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TempFile() { std::filesystem::remove_all(folder_); }
  TempFile(TempFile const&) = delete;
  TempFile& operator=(TempFile const&) = delete;

  std::string const& path() const { return path_; }
  std::string folder() const { return folder_.string(); }

 private:
  static int& next() {
    static int number = 0;
    return number;
  }
  std::filesystem::path folder_;
  std::string path_;
};

}  // namespace farfault::workloads::test
