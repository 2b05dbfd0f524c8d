// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/table_rows.hpp"

#include "farfault/engine/error.hpp"

namespace farfault {

void TableRows::add(std::uint32_t table, std::vector<Cell> const& cells) {
  number(component_);
  number(table);
  number(cells.size());
  for (auto const& cell : cells) {
    number(cell.index());
    if (auto const* text = std::get_if<std::string>(&cell)) {
      number(text->size());
      auto const* p = reinterpret_cast<std::byte const*>(text->data());
      bytes_.insert(bytes_.end(), p, p + text->size());
    } else if (auto const* n = std::get_if<std::uint64_t>(&cell)) {
      number(*n);
    } else {
      number(static_cast<std::uint64_t>(std::get<std::int64_t>(cell)));
    }
  }
}

void TableRows::read(std::span<std::byte const> bytes,
                     std::function<void(std::uint32_t component, std::uint32_t table,
                                        std::vector<Cell> const& cells)> const& row) {
  auto const number = [&] {
    std::uint64_t n = 0;
    FF_CHECK(bytes.size() >= sizeof n, "table rows are truncated");
    std::memcpy(&n, bytes.data(), sizeof n);
    bytes = bytes.subspan(sizeof n);
    return n;
  };
  std::vector<Cell> cells;
  while (!bytes.empty()) {
    auto const component = static_cast<std::uint32_t>(number());
    auto const table = static_cast<std::uint32_t>(number());
    cells.clear();
    for (auto left = number(); left > 0; --left) {
      auto const kind = number();
      auto const value = number();
      if (kind == 0) {
        cells.emplace_back(value);
      } else if (kind == 1) {
        cells.emplace_back(static_cast<std::int64_t>(value));
      } else {
        FF_CHECK(value <= bytes.size(), "table rows are truncated");
        cells.emplace_back(std::string(reinterpret_cast<char const*>(bytes.data()), value));
        bytes = bytes.subspan(value);
      }
    }
    row(component, table, cells);
  }
}

}  // namespace farfault
