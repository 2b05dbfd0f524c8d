// SPDX-License-Identifier: Apache-2.0
// Which TLB of a level translates a page: a level has groups, and each group has the same banks.
//
// - A page has one bank in each group: blocks of pages are distributed over the banks in turns or by a
//   hash. A block is at least as large as the largest page, so all base pages of a page have the same bank.
// - A TLB without banks, or a client such as an SM, is a group of one bank.
#pragma once

#include <cstdint>

#include "farfault/parts/address_map.hpp"
#include "farfault/parts/partition_hop.hpp"

namespace farfault {

class TlbBanks {
 public:
  TlbBanks() = default;
  // `hash`: of blocks of `block` pages, a power of two; outlives the banks; null: none.
  TlbBanks(std::uint32_t banks, std::uint64_t block, BankHash const* hash = nullptr)
      : map_(banks, block, hash), banks_(banks) {}

  std::uint32_t count() const { return banks_; }
  std::uint32_t bank_of(std::uint64_t page) const { return map_.slice(page); }

 private:
  AddressMap map_;
  std::uint32_t banks_ = 1;
};

// The requesters of a TLB or GMMU: TLBs or clients.
struct TlbGroups {
  std::uint32_t groups = 1;
  TlbBanks banks{};

  std::uint32_t count() const { return groups * banks.count(); }
  // Calls f(number) for the bank of the page in each group.
  template <class F>
  void each_of(std::uint64_t page, F&& f) const {
    auto const bank = banks.bank_of(page);
    for (std::uint32_t group = 0; group < groups; ++group) f(group * banks.count() + bank);
  }
  template <class F>
  void each(F&& f) const {
    for (std::uint32_t number = 0; number < count(); ++number) f(number);
  }
};

// The way from a client or a TLB to the next level.
struct TlbRoute {
  TlbBanks banks{};         // of its group there
  std::uint32_t group = 0;  // the number of that group
  std::uint16_t from = 0;   // its own number among the requesters of the group
  PartitionHop hop{};       // to its banks
  // If the level is balanced (tlb_balance.hpp): banks of distribution 1.
  bool is_balanced = false;
  TlbBanks balanced{};

  std::uint32_t bank_of(std::uint64_t page, std::uint64_t distribution) const {
    return distribution == 0 ? banks.bank_of(page) : balanced.bank_of(page);
  }
};

}  // namespace farfault
