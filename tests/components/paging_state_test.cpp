// SPDX-License-Identifier: Apache-2.0
// Bounds on the size of the driver: its State consists of parts, and its files forward messages to them.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>

#include "farfault/paging/paging_driver.hpp"

namespace paging_state_test {

using namespace farfault;

namespace {

constexpr std::size_t kMostLeaves = 15;
constexpr std::size_t kMostLines = 900;

template <class T>
concept IsPart = detail::HasMembers<T> || requires(T& t, Archive& a) {
  t.archive(a);
};

// A part or a value counts as one leaf, a plain struct as the leaves of its members.
template <class T>
std::size_t leaves(T& t) {
  if constexpr (std::is_aggregate_v<T> && std::is_class_v<T> && !IsPart<T> && !detail::IsArray<T>::value) {
    std::size_t count = 0;
    detail::with_members(t, [&](auto&... members) { count = (leaves(members) + ... + 0); });
    return count;
  } else {
    return 1;
  }
}

template <class Part>
constexpr std::size_t members_of() {
  return std::tuple_size_v<detail::ListOf<Part>>;
}

struct Lines {
  std::size_t files = 0;
  std::size_t lines = 0;
};
// Files of components/paging that begin with `name`.
Lines lines_of(std::string const& name) {
  Lines found;
  for (auto const& file :
       std::filesystem::recursive_directory_iterator(FARFAULT_SOURCE_DIR "/components/paging")) {
    if (!file.is_regular_file() || !file.path().filename().string().starts_with(name)) continue;
    ++found.files;
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) ++found.lines;
  }
  return found;
}

struct Inner {
  std::uint64_t a = 0;
  std::array<std::uint64_t, 4> b{};
};
struct Outer {
  Inner inner;
  Time time{};
  std::vector<Inner> many;
  FaultClient part;
};

}  // namespace

TEST_CASE("leaves of a State: nested structs are opened, parts and containers count once") {
  Outer outer;
  CHECK(leaves(outer) == 5);
  PagingCounts counts;
  CHECK(leaves(counts) == 3);
}

TEST_CASE("the driver's State has at most 15 leaves") {
  PagingDriverState state;
  MESSAGE(leaves(state) << " leaves");
  CHECK(leaves(state) > 9);
  CHECK(leaves(state) <= kMostLeaves);
}

TEST_CASE("each part of the driver has at most 15 members") {
  CHECK(members_of<FaultClient>() <= kMostLeaves);
  CHECK(members_of<ProgramClient>() <= kMostLeaves);
  CHECK(members_of<RelocationClient>() <= kMostLeaves);
  CHECK(members_of<BatchClient>() <= kMostLeaves);
  CHECK(members_of<BatchWorker>() <= kMostLeaves);
  CHECK(members_of<IncomingPages>() <= kMostLeaves);
  CHECK(members_of<EvictionClient>() <= kMostLeaves);
  CHECK(members_of<CounterClient>() <= kMostLeaves);
  CHECK(members_of<DriverWork>() <= kMostLeaves);
  CHECK(members_of<PagingRecords>() <= kMostLeaves);
}

TEST_CASE("the files of the driver itself have at most 900 lines") {
  auto const driver = lines_of("paging_driver");
  MESSAGE(driver.lines << " lines in " << driver.files << " files");
  CHECK(driver.files == 3);
  CHECK(driver.lines > 200);
  CHECK(driver.lines <= kMostLines);
}

}  // namespace paging_state_test
