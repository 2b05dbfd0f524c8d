// Where the file below HDF5 puts blocks: a killed write stops between pages, never within one.
#include "commit_file.hpp"

#include <doctest/doctest.h>

#include <map>

#include "scratch.hpp"

using namespace farfault::results;

namespace {

bool crosses_a_page(std::uint64_t address, std::uint64_t size) {
  return address / 4096 != (address + size - 1) / 4096;
}

}  // namespace

TEST_CASE("a block of up to a page crosses no page, new or given back, and overlaps no other") {
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
  CHECK(file.end_of_allocation() < 4000 * 2400);  // what was given back has been used again
}

TEST_CASE("metadata never ends the file, where HDF5 would lengthen it") {
  Scratch dir;
  CommitFile file(dir / "a.h5");
  for (std::uint64_t const size : {8, 300, 4096, 5000}) {
    auto const address = file.allocate(size, false);
    CHECK(address + size < file.end_of_allocation());
  }
}
