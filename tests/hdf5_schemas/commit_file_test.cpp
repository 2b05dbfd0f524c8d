// SPDX-License-Identifier: Apache-2.0
// Placement of blocks in the file below HDF5: a kill may split a write between pages, never within one.
#include "file/commit_file.hpp"

#include <doctest/doctest.h>

#include <map>

#include "scratch.hpp"

namespace commit_file_test {

using namespace farfault::results;

namespace {

bool crosses_a_page(std::uint64_t address, std::uint64_t size) {
  return address / 4096 != (address + size - 1) / 4096;
}

}  // namespace

TEST_CASE("a block of up to one page crosses no page boundary and overlaps no other block, new or reused") {
  Scratch dir;
  CommitFile file(dir / "a.h5");
  std::map<std::uint64_t, std::uint64_t> blocks;  // address -> size
  for (std::uint64_t i = 0; i < 4000; ++i) {
    auto const size = i % 7 == 0 ? 4096 : i % 11 == 0 ? 4097 + i : 1 + i * 37 % 1500;
    auto const address = file.allocate(size, i % 3 != 0);
    if (size <= 4096) REQUIRE_FALSE(crosses_a_page(address, size));
    auto const next = blocks.lower_bound(address);
    if (next != blocks.end()) REQUIRE(address + size <= next->first);
    if (next != blocks.begin()) REQUIRE(std::prev(next)->first + std::prev(next)->second <= address);
    blocks.emplace(address, size);
    if (i % 2 == 0) {
      auto const victim = std::next(blocks.begin(), static_cast<std::ptrdiff_t>(i * 13 % blocks.size()));
      file.release(victim->first, victim->second);
      blocks.erase(victim);
    }
    if (i % 50 == 0) file.commit();
  }
  CHECK(file.end_of_allocation() < 4000 * 2400);  // released space has been reused
}

TEST_CASE(
    "metadata within 1 KiB of the end of a page is not the end of the file, where HDF5 would extend it") {
  Scratch dir;
  CommitFile file(dir / "a.h5");
  int near_the_end = 0;
  for (int i = 0; i < 200; ++i) {
    auto const before = file.end_of_allocation();
    auto const end = file.allocate(300, false) + 300;
    if (end < before) continue;  // it fills a hole
    bool const near = 4096 - (end - 1) % 4096 - 1 < 1024;
    near_the_end += near ? 1 : 0;
    REQUIRE(file.end_of_allocation() == end + (near ? 1 : 0));
  }
  CHECK(near_the_end > 10);
}

TEST_CASE("metadata fills the rest of pages until the next commit, data also later") {
  Scratch dir;
  CommitFile file(dir / "a.h5");
  CHECK(file.allocate(3000, false) == 0);
  CHECK(file.allocate(3000, false) == 4096);
  CHECK(file.allocate(200, false) == 3000);
  file.commit();
  CHECK(file.allocate(200, false) > 7000);
  CHECK(file.allocate(200, true) == 3200);
}

}  // namespace commit_file_test
