// SPDX-License-Identifier: Apache-2.0
// Rows of tables, passed from components to the results.
//
// A component appends one row per occurrence, in order of occurrence; rows that have been
// taken are removed from the component. Each rank's rows are one byte sequence, which the rank
// that writes the results decodes.
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
  // `table`: its index among the tables of the current component.
  void add(std::uint32_t table, std::vector<Cell> const& cells);

  // Sets the component of the following rows.
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
