// SPDX-License-Identifier: Apache-2.0
// Private: a level of TLBs, the same in all GPUs of a machine: its groups and who sends requests to each.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assembly_devices.hpp"

namespace farfault::topologies {

class Assembly::TlbLevel {
 public:
  // A client, or a group of the level below.
  struct Member {
    std::uint32_t group = 0;   // that it sends requests to
    std::uint32_t number = 0;  // among the members of the group
  };

  // `first_sms`: the first SM of each member: of each client, or of each group of the level below.
  // `banks_below`: TLBs per member; 1 for clients.
  TlbLevel(TlbLevelParams level, unsigned page_bits, std::uint32_t gpu_sms,
           std::vector<std::uint32_t> const& first_sms, TlbBanks const& banks_below);
  TlbLevel(TlbLevel const&) = delete;
  TlbLevel& operator=(TlbLevel const&) = delete;

  TlbLevelParams const& params() const { return params_; }
  std::uint32_t groups() const { return static_cast<std::uint32_t>(members_.size()); }
  TlbBanks const& banks() const { return banks_; }
  // The number of the group is part of the name only if there are several, as is that of the bank.
  std::string name(std::uint32_t group, std::uint32_t bank) const;
  std::uint32_t first_sm(std::uint32_t group) const { return first_sm_[group]; }
  std::vector<std::uint32_t> const& first_sms() const { return first_sm_; }
  // The members of a group, by number.
  std::vector<std::uint32_t> const& members(std::uint32_t group) const { return members_[group]; }
  // The requesters of a TLB of the group.
  TlbGroups requesters(std::uint32_t group) const {
    return {static_cast<std::uint32_t>(members_[group].size()), banks_below_};
  }
  // The way of a member's bank to this level.
  TlbRoute route(std::uint32_t member, std::uint32_t bank = 0) const {
    auto const& m = member_[member];
    return {banks_, m.group, static_cast<std::uint16_t>(m.number * banks_below_.count() + bank)};
  }

 private:
  TlbLevelParams params_;
  std::optional<BankHash> hash_;
  TlbBanks banks_;
  TlbBanks banks_below_;
  std::vector<Member> member_;
  std::vector<std::vector<std::uint32_t>> members_;  // by group
  std::vector<std::uint32_t> first_sm_;              // by group
};

}  // namespace farfault::topologies
