// SPDX-License-Identifier: Apache-2.0
// Writes sample results for the tests of the Python package: a finished run and an interrupted one.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "sample.hpp"

namespace keep_sample_test {

using namespace farfault::results;

TEST_CASE("a sample result is left in FARFAULT_SAMPLE_DIR") {
  char const* const folder = std::getenv("FARFAULT_SAMPLE_DIR");
  if (folder == nullptr) {
    MESSAGE("skipped: FARFAULT_SAMPLE_DIR is not set");
    return;
  }
  auto const dir = std::filesystem::path(folder);
  CHECK(sample::write((dir / "finished.h5").string(), 2500).size() == 32);
  ResultWriter writer((dir / "cut_off.h5").string(), sample::header());
  sample::append(writer, 0, 5);
}

}  // namespace keep_sample_test
