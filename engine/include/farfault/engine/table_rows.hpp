// SPDX-License-Identifier: Apache-2.0
// Rows of tables on their way from components to the results.
//
// A component appends a row for each thing that has happened, in the order in which it did; what has been
// taken is no longer the component's. The rows of all ranks are one sequence of bytes each, which the rank
// that writes the results reads again.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "farfault/engine/time.hpp"

namespace farfault {

using Cell = std::variant<std::uint64_t, std::int64_t, std::string>;

// A simulated time as a cell: picoseconds.
inline std::uint64_t count_of(Time t) {
  return static_cast<std::uint64_t>(picoseconds(t));
}

class TableRows {
 public:
  // `table`: its number among the tables of the component that is being asked.
  void add(std::uint32_t table, std::vector<Cell> const& cells);

  // Rows that follow are those of this component.
  void begin(std::uint32_t component) { component_ = component; }

  std::span<std::byte const> bytes() const { return bytes_; }
  static void read(std::span<std::byte const> bytes,
                   std::function<void(std::uint32_t component, std::uint32_t table,
                                      std::vector<Cell> const& cells)> const& row);

 private:
  void number(std::uint64_t n) {
    auto const* p = reinterpret_cast<std::byte const*>(&n);
    bytes_.insert(bytes_.end(), p, p + sizeof n);
  }

  std::uint32_t component_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace farfault
