// SPDX-License-Identifier: Apache-2.0
// GPUs that may hold the translation of a page on another device.
//
// A coarse vector of 64 bits (Gupta et al., ICPP 1990): GPU n is bit n mod 64. The set is exact for up to 64
// GPUs and a superset beyond. GPUs whose TLBs have evicted the entry still count.
#pragma once

#include <cstdint>
#include <tuple>

#include "farfault/paging/page_records.hpp"

namespace farfault {

class PageDirectory {
 public:
  PageDirectory() = default;
  explicit PageDirectory(unsigned page_bits, std::uint32_t spaces = 1) : holders_(page_bits, spaces) {}

  void add_holder(std::uint64_t page, std::uint32_t gpu) { holders_.of(page) |= bit(gpu); }
  bool may_hold(std::uint64_t page, std::uint32_t gpu) const {
    auto const* holders = holders_.find(page);
    return holders != nullptr && (*holders & bit(gpu)) != 0;
  }
  void forget(std::uint64_t page) { holders_.forget(page); }

  auto members() { return std::tie(holders_); }

 private:
  static std::uint64_t bit(std::uint32_t gpu) { return std::uint64_t{1} << (gpu % 64); }

  PageRecords<std::uint64_t> holders_;
};

}  // namespace farfault
