// SPDX-License-Identifier: Apache-2.0
// Table rows in transit.
#include "farfault/engine/table_rows.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <utility>

namespace table_rows_test {

using namespace farfault;

TEST_CASE("rows arrive unchanged, with their component and table, numbers and any text") {
  TableRows rows;
  std::vector<std::vector<Cell>> const cells{
      {std::uint64_t{7}, std::string("gpu0"), std::int64_t{-3}},
      {},
      {std::string(), std::string("\0\n\xff", 3), std::numeric_limits<std::uint64_t>::max()}};
  rows.begin(5);
  rows.add(0, cells[0]);
  rows.add(2, cells[1]);
  rows.begin(9);
  rows.add(1, cells[2]);
  struct Row {
    std::uint32_t component;
    std::uint32_t table;
    std::vector<Cell> cells;
  };
  std::vector<Row> read;
  TableRows::read(rows.bytes(),
                  [&](std::uint32_t component, std::uint32_t table, std::vector<Cell> const& c) {
                    read.push_back({component, table, c});
                  });
  REQUIRE(read.size() == 3);
  CHECK(std::pair(read[0].component, read[0].table) == std::pair(5U, 0U));
  CHECK(std::pair(read[1].component, read[1].table) == std::pair(5U, 2U));
  CHECK(std::pair(read[2].component, read[2].table) == std::pair(9U, 1U));
  for (std::size_t i = 0; i < 3; ++i) CHECK(read[i].cells == cells[i]);
}

}  // namespace table_rows_test
