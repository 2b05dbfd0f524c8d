// What an IOMMU remembers of pages that lie on another device than the GPU that asks: which GPUs may hold
// such a translation, and how often one GPU has asked in a row.
//
// The holders are a coarse vector of 64 bits (Gupta et al., ICPP 1990): GPU n is bit n mod 64, so that the
// answer is exact up to 64 GPUs and never too small beyond. Entries that a TLB has dropped since still count.
#pragma once

#include <cstdint>
#include <vector>

#include "farfault/components/parts/page_table.hpp"

namespace farfault {

class PageDirectory {
 public:
  PageDirectory() = default;
  explicit PageDirectory(unsigned page_bits) : number_of_(0, page_bits) {}

  void add_holder(std::uint64_t page, std::uint32_t gpu) {
    record(page).holders |= std::uint64_t{1} << (gpu % 64);
  }
  bool may_hold(std::uint64_t page, std::uint32_t gpu) const {
    auto const number = number_of_.find(page);
    return number && (records_[*number].holders >> (gpu % 64) & 1) != 0;
  }

  // GPU `gpu` asks for the page: how many times in a row, this one included, since the page was forgotten.
  std::uint32_t touch(std::uint64_t page, std::uint32_t gpu) {
    auto& r = record(page);
    if (r.last != gpu) r.in_a_row = 0;
    r.last = gpu;
    return ++r.in_a_row;
  }

  // The page lies elsewhere from now on, and nobody holds it.
  void forget(std::uint64_t page) {
    if (auto const number = number_of_.find(page)) records_[*number] = {};
  }

  template <class Archive>
  void persist(Archive& a) {
    a(number_of_, records_);
  }

 private:
  struct Record {
    std::uint64_t holders = 0;
    std::uint32_t last = 0;
    std::uint32_t in_a_row = 0;
  };

  Record& record(std::uint64_t page) {
    auto const number = number_of_.find(page);
    if (number) return records_[*number];
    number_of_.map(page, records_.size());
    return records_.emplace_back();
  }

  PageTable number_of_;  // of a page's record
  std::vector<Record> records_;
};

}  // namespace farfault
