// SPDX-License-Identifier: Apache-2.0
// Balances the banks of a level of TLBs (tlb_balance.hpp): collects the counts of all banks when one asks for
// it, and sends SMs and read-only caches the distribution of pages over the banks.
//
// - Requests in flight are served by the bank that they reach: every bank can translate every page.
//   A page may then be in several banks, so that invalidations reach all of them.
// - Limits: one level, whose requesters are SMs and read-only caches; no replays of faults, because a bank
//   would not forward them behind the responses of another bank (config_rules.cpp).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "farfault/engine/component.hpp"
#include "farfault/protocols/messages.hpp"
#include "farfault/translation/tlb_balance.hpp"

namespace farfault {

struct TlbBalancerSpec {
  PolicyChoice<TlbBalance> policy{"fixed"};
  std::string section;  // of the level's parameters
  std::uint32_t banks = 1;
  std::uint32_t clients = 1;
};

struct TlbBalancerState {
  Policy<TlbBalance> policy;
  std::vector<TlbBalance::Counts> counts;  // by bank, of the current collection
  std::uint64_t missing = 0;               // banks that have not sent theirs
  std::uint64_t distribution = 0;
  std::uint64_t collections = 0;
  std::uint64_t switches = 0;

  static std::span<Stat<TlbBalancerState> const> list() {
    using S = TlbBalancerState const&;
    static constexpr auto all = std::to_array<Stat<TlbBalancerState>>({
        {"collections", "count", "Collections of the counts of all banks", StatKind::counter,
         [](S s) { return s.collections; }},
        {"switches", "count", "Changes of the distribution of pages over the banks, resets included",
         StatKind::counter, [](S s) { return s.switches; }},
        {"distribution", "count", "Distribution in use: 0 that of the level, 1 single pages", StatKind::level,
         [](S s) { return s.distribution; }},
    });
    return all;
  }
};

class TlbBalancer final : public Component<TlbBalancerSpec, TlbBalancerState> {
 public:
  explicit TlbBalancer(Slot<TlbBalancerSpec> slot);
  In<TlbCounts> counted = in<&TlbBalancer::on_counts>("counted");
  In<Tick> launched = in<&TlbBalancer::on_launch>("launched");
  Out<Tick> collect = out<Tick>("collect");
  Out<TlbDistribution> distribute = out<TlbDistribution>("distribute");

  std::string_view kind() const override { return "tlb_balancer"; }
  std::string waiting_for() const override;
  TlbBalancerState initial() const override;
  std::vector<PolicyStats> policy_stats() const override;

  void on_counts(TlbCounts const& m, Cx& cx) const;
  void on_launch(Tick const& m, Cx& cx) const;

 private:
  void use(std::uint32_t distribution, Cx& cx) const;
};
extern template class Component<TlbBalancerSpec, TlbBalancerState>;  // compiled in tlb_balancer.cpp

}  // namespace farfault
