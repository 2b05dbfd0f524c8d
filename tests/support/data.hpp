// SPDX-License-Identifier: Apache-2.0
// Real input files for tests, which are not part of the repository. A test whose file is missing is skipped
// by name.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

// The file below $FARFAULT_DATA, or below ../shared/data next to the source tree; empty if missing.
inline std::optional<std::string> data_file(std::string const& name) {
  char const* folder = std::getenv("FARFAULT_DATA");
  auto const path =
      (folder ? std::string(folder) : std::string(FARFAULT_SOURCE_DIR "/../shared/data")) + "/" + name;
  if (std::filesystem::exists(path)) return path;
  auto const* test = doctest::getContextOptions()->currentTest;
  MESSAGE("skipped: " << std::string(test ? test->m_name : "?") << ": no " << name);
  return std::nullopt;
}
