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

  // Common to all levels of a GPU.
  struct Shape {
    std::uint32_t sms = 1;
    std::uint32_t partitions = 1;
    unsigned page_bits = 12;
    std::uint64_t largest_page = 1;  // in base pages
    Clock clock{1'000'000'000};
    std::uint32_t partition_of(std::uint32_t sm) const {
      return static_cast<std::uint32_t>(std::uint64_t{sm} * partitions / sms);
    }
  };
  // `first_sms`: the first SM of each member: of each client, or of each group of the level below.
  // `below`: null if the members are clients.
  TlbLevel(TlbLevelParams level, Shape const& shape, std::vector<std::uint32_t> const& first_sms,
           TlbLevel const* below);
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
    return {.banks = banks_,
            .group = m.group,
            .from = static_cast<std::uint16_t>(m.number * banks_below_.count() + bank),
            .hop = hop_from(partition_of_requester(member, bank)),
            .is_balanced = params_.is_balanced(),
            .balanced = balanced_};
  }
  // The partition of the GPU in which a bank is.
  std::uint32_t partition_of(std::uint32_t group, std::uint32_t bank) const {
    return is_spread() ? bank * shape_.partitions / banks_.count() : shape_.partition_of(first_sm_[group]);
  }
  // Additional latencies of a bank's responses, by requester; empty: none.
  std::vector<Duration> to_requesters(std::uint32_t group, std::uint32_t bank) const;

 private:
  // The banks are in several partitions, with a latency between them.
  bool is_spread() const { return params_.far_latency != 0; }
  PartitionHop hop_from(std::uint32_t partition) const {
    if (!is_spread()) return {};
    return {partition, banks_.count() / shape_.partitions, shape_.clock.cycles(params_.far_latency)};
  }
  std::uint32_t partition_of_requester(std::uint32_t member, std::uint32_t bank) const {
    return below_ == nullptr ? shape_.partition_of(first_sm_of_member_[member])
                             : below_->partition_of(member, bank);
  }

  TlbLevelParams params_;
  Shape shape_;
  TlbLevel const* below_;
  std::optional<BankHash> hash_;
  TlbBanks banks_;
  std::optional<BankHash> page_hash_;  // of the second distribution, if the level is balanced
  TlbBanks balanced_;
  TlbBanks banks_below_;
  std::vector<Member> member_;
  std::vector<std::uint32_t> first_sm_of_member_;
  std::vector<std::vector<std::uint32_t>> members_;  // by group
  std::vector<std::uint32_t> first_sm_;              // by group
};

}  // namespace farfault::topologies
