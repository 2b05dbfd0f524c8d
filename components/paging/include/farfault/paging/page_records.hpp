// SPDX-License-Identifier: Apache-2.0
// Records of pages, found by page number in a radix table.
//
// - of(): the page's record, created if there is none. The reference, and pointers of find(), are valid until
//   the next of().
// - find(): null if of() was never called for the page. forget() resets a record to Record{}, and find()
//   still returns it. Without arguments, it has no records, and only forget() may be called.
// - Memory: the used part of the table and one Record per page ever passed to of(); none is released.
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

  Record const* find(std::uint64_t page) const {
    auto const number = number_of_.find_mapped(page);
    return number ? &records_[number->frame / kUnit] : nullptr;
  }
  Record& of(std::uint64_t page) {
    if (auto const number = number_of_.find_mapped(page)) return records_[number->frame / kUnit];
    number_of_.map(page, records_.size() * kUnit);
    return records_.emplace_back();
  }
  void forget(std::uint64_t page) {
    if (records_.empty()) return;
    if (auto const number = number_of_.find_mapped(page)) records_[number->frame / kUnit] = {};
  }

  auto members() { return std::tie(number_of_, records_); }

 private:
  static constexpr std::uint64_t kUnit = 4096;  // a table holds frames, which are aligned

  PageTable number_of_;  // number of the page's record times kUnit
  std::vector<Record> records_;
};

}  // namespace farfault
