// SPDX-License-Identifier: Apache-2.0
// Outstanding faults of the uTLBs of a GPU whose driver serves faults in batches. Adjacent SMs share a uTLB,
// which limits their outstanding faults.
//
// - takes() allocates room for a fault of a client that is to get a fault-buffer entry. If there is none, the
//   fault is raised again after a replay.
// - A fault is outstanding until its page, or all pages, are replayed.
// - A scalar cache, numbered above the SMs, has a separate uTLB.
// - Without a limit nothing is recorded. Time of a replay of one page: linear in the outstanding faults.
// - Source: Allen and Ge, SC 2021 (Titan V): 56 faults per uTLB, shared by adjacent SMs.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

namespace farfault {

class UtlbFaults {
 public:
  UtlbFaults() = default;
  // `most` = 0: unlimited.
  UtlbFaults(std::uint32_t most, std::uint32_t sms_per_utlb, std::uint32_t sms)
      : most_(most), sms_per_utlb_(sms_per_utlb), sms_(sms) {}

  bool takes(std::uint64_t page, std::uint32_t client) {
    if (most_ == 0) return true;
    auto const utlb = utlb_of(client);
    if (counts_.size() <= utlb) counts_.resize(utlb + std::size_t{1});
    if (counts_[utlb] == most_) return false;
    ++counts_[utlb];
    outstanding_.push_back({page, utlb});
    return true;
  }
  void replayed(std::uint64_t page) {
    std::erase_if(outstanding_, [&](Outstanding const& o) {
      if (o.page == page) --counts_[o.utlb];
      return o.page == page;
    });
  }
  void all_replayed() {
    outstanding_.clear();
    counts_.clear();
  }
  std::uint64_t outstanding() const { return outstanding_.size(); }

  auto members() { return std::tie(outstanding_, counts_, most_, sms_per_utlb_, sms_, unused_); }

 private:
  struct Outstanding {
    std::uint64_t page = 0;
    std::uint64_t utlb = 0;
  };
  std::uint64_t utlb_of(std::uint32_t client) const {
    auto const utlbs = (sms_ + sms_per_utlb_ - 1) / sms_per_utlb_;
    return client < sms_ ? client / sms_per_utlb_ : utlbs + (client - sms_);
  }

  std::vector<Outstanding> outstanding_;
  std::vector<std::uint32_t> counts_;  // by uTLB
  std::uint32_t most_ = 0;
  std::uint32_t sms_per_utlb_ = 1;
  std::uint32_t sms_ = 0;
  std::uint32_t unused_ = 0;
};

}  // namespace farfault
