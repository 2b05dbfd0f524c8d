// SPDX-License-Identifier: Apache-2.0
// One record per page, empty at first. A radix table finds it by page number, so that sparse address spaces
// cost only the part that is used.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "farfault/translation/page_table.hpp"

namespace farfault {

// Record must be trivially copyable.
template <class Record>
class PageRecords {
 public:
  PageRecords() = default;
  explicit PageRecords(unsigned page_bits, std::uint32_t spaces = 1) : number_of_(0, page_bits, spaces) {}

  // Null: no record yet.
  Record const* find(std::uint64_t page) const {
    auto const number = number_of_.find_mapped(page);
    return number ? &records_[number->frame / kUnit] : nullptr;
  }
  Record& of(std::uint64_t page) {
    if (auto const number = number_of_.find_mapped(page)) return records_[number->frame / kUnit];
    number_of_.map(page, records_.size() * kUnit);
    return records_.emplace_back();
  }
  // Resets the page's record.
  void forget(std::uint64_t page) {
    if (auto const number = number_of_.find_mapped(page)) records_[number->frame / kUnit] = {};
  }

  auto members() { return std::tie(number_of_, records_); }

 private:
  static constexpr std::uint64_t kUnit = 4096;  // a table holds frames, which are aligned

  PageTable number_of_;  // number of the page's record times kUnit
  std::vector<Record> records_;
};

}  // namespace farfault
