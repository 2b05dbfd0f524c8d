// SPDX-License-Identifier: Apache-2.0
#include "farfault/translation/tlb_balancer.hpp"

namespace farfault {

TlbBalancer::TlbBalancer(Slot<TlbBalancerSpec> slot) : Component(std::move(slot)) {}

TlbBalancerState TlbBalancer::initial() const {
  TlbBalancerState s;
  s.policy = spec().policy.make({});
  s.counts.resize(spec().banks);
  return s;
}

std::vector<TlbBalancer::PolicyStats> TlbBalancer::policy_stats() const {
  return {{{spec().section + ".balance", spec().policy.stats()},
           [](TlbBalancerState const& s) -> StatSource const& { return s.policy; }}};
}

std::string TlbBalancer::waiting_for() const {
  return state().missing == 0 ? "" : "counts of " + std::to_string(state().missing) + " banks";
}

void TlbBalancer::on_counts(TlbCounts const& m, Cx& cx) const {
  auto& s = cx.state();
  if (m.asks != 0) {
    if (s.missing != 0) return;
    s.missing = spec().banks;
    ++s.collections;
    for (std::uint32_t bank = 0; bank < spec().banks; ++bank) cx.send(collect, bank, Tick{});
    return;
  }
  FF_CHECK(s.missing != 0, path() + ": counts that were not collected");
  s.counts[m.bank] = {m.hits, m.misses, m.far};
  if (--s.missing == 0) use(s.policy->counted(s.counts), cx);
}

void TlbBalancer::on_launch(Tick const&, Cx& cx) const {
  use(cx.state().policy->kernel_started(), cx);
}

void TlbBalancer::use(std::uint32_t distribution, Cx& cx) const {
  auto& s = cx.state();
  if (s.distribution == distribution) return;
  s.distribution = distribution;
  ++s.switches;
  for (std::uint32_t client = 0; client < spec().clients; ++client)
    cx.send(distribute, client, TlbDistribution{distribution});
}

template class Component<TlbBalancerSpec, TlbBalancerState>;

}  // namespace farfault
