// SPDX-License-Identifier: Apache-2.0
// Read-only duplication: each GPU that reads a shared page has a copy, until a GPU writes it. Models the read
// duplication of NVIDIA's driver (cudaMemAdviseSetReadMostly; uvm_va_block.c).
#include <array>

#include "farfault/paging/page_decision.hpp"

namespace farfault::page_decisions {
namespace {

class Duplicate final : public PageDecision {
 public:
  static constexpr Facts facts() {
    using enum PageEventKind;
    return {.moves_pages = true, .makes_copies = true, .events = {request, write_to_copies, fault}};
  }
  PageAction decide(PageEvent const& e) override {
    bool const reads = e.access == Access::read;
    bool const faults = e.kind == PageEventKind::fault;
    // A read that faulted while the page was in flight makes a copy; a write is answered with the new frame.
    bool const waited = e.cause == FaultKind::not_mapped || (e.cause == FaultKind::moving && !reads);
    if (faults && waited) return PageAction::stay;
    counts_.reads += reads && !e.is_prefetch && (faults || e.kind == PageEventKind::request) ? 1 : 0;
    counts_.writes += !reads && (faults ? e.has_copies : e.kind == PageEventKind::write_to_copies) ? 1 : 0;
    return reads ? PageAction::copy_here : PageAction::move_here;
  }
  void forget(std::uint64_t) override {}

  static auto stats() {
    using S = Duplicate const&;
    return std::to_array<Stat<Duplicate>>({
        {"reads", "count", "Requests to read a page on another device, which make a copy", StatKind::counter,
         [](S s) { return s.counts_.reads; }},
        {"writes", "count", "Requests to write a page with copies, which drop the copies", StatKind::counter,
         [](S s) { return s.counts_.writes; }},
    });
  }
  auto members() { return std::tie(counts_); }

 private:
  struct Counts {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
  };
  Counts counts_;
};

}  // namespace

void duplicate(PolicyList<PageDecision>& list) {
  list.add<Duplicate>("duplicate",
                      "read-only copies for GPUs that read the page, migration to a GPU that writes it, "
                      "which drops the copies");
}

}  // namespace farfault::page_decisions
