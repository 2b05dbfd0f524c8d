// SPDX-License-Identifier: Apache-2.0
// Migration by access counters: a page on another device is accessed remotely, and moves to a GPU that has
// counted enough accesses to its region. Models the service of NVIDIA's driver (uvm_gpu_access_counters.c,
// with UVM_ACCESS_COUNTER_MIGRATION on; since 550.40.07 only on hosts with 64 KiB pages).
#include "farfault/paging/page_decision.hpp"

namespace farfault::page_decisions {
namespace {

struct AccessCounters final : PageDecision {
  static constexpr Facts facts() { return {.moves_pages = true, .events = {PageEventKind::counted}}; }
  PageAction decide(PageEvent const&) override { return PageAction::move_here; }
  void forget(std::uint64_t) override {}
};

}  // namespace

void access_counters(PolicyList<PageDecision>& list) {
  list.add<AccessCounters>(
      "access_counters",
      "access over the interconnect, migration to a GPU whose counted accesses reach the threshold");
}

}  // namespace farfault::page_decisions
