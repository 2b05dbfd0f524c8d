// SPDX-License-Identifier: Apache-2.0
// Migration by access counters: a page on another device is accessed remotely, and moves to a GPU that has
// counted enough accesses to its region. Models the service of NVIDIA's driver (uvm_gpu_access_counters.c,
// with UVM_ACCESS_COUNTER_MIGRATION on; since 550.40.07 only on hosts with 64 KiB pages).
#include "farfault/paging/page_decision.hpp"

namespace farfault::page_decisions {
namespace {

// mapped: GPUs have remote mappings of all pages on other devices at time zero. faults: a GPU without a
// mapping faults, and the driver maps the page where it is.
enum class FirstAccess : std::uint64_t { mapped, faults };

class AccessCounters final : public PageDecision {
 public:
  struct Params {
    FirstAccess first_access = FirstAccess::mapped;
    void describe(ParamTable& t) {
      t.choice("first_access", first_access,
               {{"mapped", FirstAccess::mapped, "no fault: mapped remotely at time zero"},
                {"faults", FirstAccess::faults, "fault, at which the driver maps the page remotely"}},
               "First access of a GPU to a page on another device",
               "assumed: mapped; faults: GRIT (HPCA 2024), baseline, by public summaries of the paper");
    }
  };

  static constexpr Facts facts(Params const& p) {
    using enum PageEventKind;
    bool const faults = p.first_access == FirstAccess::faults;
    return {.moves_pages = true,
            .events = faults ? PageEvents{fault, counted} : PageEvents{counted},
            .stays_at_faults = faults};
  }

  AccessCounters(Params const& p, Setup const&) : params_{p} {}

  PageAction decide(PageEvent const& e) override {
    return e.kind == PageEventKind::counted ? PageAction::move_here : PageAction::stay;
  }
  void forget(std::uint64_t) override {}
  auto members() { return std::tie(params_); }

 private:
  Fixed<Params> params_;
};

}  // namespace

void access_counters(PolicyList<PageDecision>& list) {
  list.add<AccessCounters>(
      "access_counters",
      "access over the interconnect, migration to a GPU whose counted accesses reach the threshold");
}

}  // namespace farfault::page_decisions
