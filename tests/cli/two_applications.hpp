// SPDX-License-Identifier: Apache-2.0
// Configurations of two applications, with a folder for their tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace two_applications {

inline std::filesystem::path folder() {
  auto const path = std::filesystem::path(FARFAULT_BINARY_DIR) / "applications_test";
  std::filesystem::create_directories(path);
  return path;
}

inline std::string scratch(std::string const& name, std::string const& text) {
  auto const path = (folder() / name).string();
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// Four GPUs of 36 SMs.
inline std::string const kBase = "include = [\"paper-gmmu-bypass\"]\n";
// "fir" begins in line 2, "sort" in line 6.
inline std::string const kTwo = kBase +
                                "[[application]]\n"
                                "name = \"fir\"\n"
                                "workload = \"fir\"\n"
                                "fir.size = \"16KiB\"\n"
                                "[[application]]\n"
                                "name = \"sort\"\n"
                                "workload = \"stream\"\n"
                                "stream.bytes = \"16KiB\"\n";

}  // namespace two_applications
