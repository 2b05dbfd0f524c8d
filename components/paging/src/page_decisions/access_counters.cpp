// SPDX-License-Identifier: Apache-2.0
// Migration by access counters: a page on another device moves to a GPU that has counted enough accesses to
// its region. Models the service of NVIDIA's driver (uvm_gpu_access_counters.c, with
// UVM_ACCESS_COUNTER_MIGRATION on; since 550.40.07 only on hosts with 64 KiB pages).
//
// NVIDIA's driver maps a page remotely at the first access if the page has a preferred location or thrashes
// (uvm_va_block.c). Other pages move at the first access; counters then count what does not fault: accesses
// of a full GPU without batches, which maps pages remotely.
#include "farfault/paging/page_decision.hpp"

namespace farfault::page_decisions {
namespace {

// mapped: GPUs have remote mappings of all pages on other devices at time zero. faults: a GPU without a
// mapping faults, and the driver maps the page where it is. moves: the page moves to the GPU.
enum class FirstAccess : std::uint64_t { mapped, faults, moves };

class AccessCounters final : public PageDecision {
 public:
  struct Params {
    FirstAccess first_access = FirstAccess::mapped;
    void describe(ParamTable& t) {
      t.choice(
          "first_access", first_access,
          {{"mapped", FirstAccess::mapped, "no fault: mapped remotely at time zero"},
           {"faults", FirstAccess::faults, "fault, at which the driver maps the page remotely"},
           {"moves", FirstAccess::moves, "the page moves to the GPU"}},
          "First access of a GPU to a page on another device",
          "assumed: mapped; faults: GRIT (HPCA 2024), baseline, by public summaries of the paper; moves: "
          "NVIDIA's driver (uvm_va_block.c), unless the page has a preferred location or thrashes");
    }
  };

  static constexpr Facts facts(Params const& p) {
    return {.moves_pages = true,
            .events = events(p.first_access),
            .stays_at_faults = p.first_access == FirstAccess::faults};
  }

  AccessCounters(Params const& p, Setup const&) : params_{p} {}

  PageAction decide(PageEvent const& e) override {
    if (e.kind == PageEventKind::counted) return PageAction::move_here;
    // An access that faulted while the page was in flight is served where the page is.
    bool const waited = e.kind == PageEventKind::fault && e.cause != FaultKind::remote;
    return params_->first_access == FirstAccess::moves && !waited ? PageAction::move_here : PageAction::stay;
  }
  void forget(std::uint64_t) override {}
  auto members() { return std::tie(params_); }

 private:
  static constexpr PageEvents events(FirstAccess at) {
    using enum PageEventKind;
    if (at == FirstAccess::mapped) return {counted};
    return at == FirstAccess::faults ? PageEvents{fault, counted} : PageEvents{request, fault, counted};
  }

  Fixed<Params> params_;
};

}  // namespace

void access_counters(PolicyList<PageDecision>& list) {
  list.add<AccessCounters>(
      "access_counters",
      "access over the interconnect, migration to a GPU whose counted accesses reach the threshold");
}

}  // namespace farfault::page_decisions
