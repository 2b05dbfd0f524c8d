// SPDX-License-Identifier: Apache-2.0
// Read-only duplication of pages that a GPU accesses often. A page is read remotely until one GPU has made
// `after` translation requests to read it, or until its access counters report the page (`counts`). Then the
// page is copied, as by NVIDIA's read duplication (duplicate.cpp), whose mappings always point to local
// memory (uvm_va_block.c): every further GPU that reads it gets a copy, until a write drops all copies.
#include <array>
#include <vector>

#include "farfault/paging/page_decision.hpp"
#include "farfault/paging/page_records.hpp"

namespace farfault::page_decisions {
namespace {

// requests: translation requests of one GPU to read the page, at its IOMMU, from zero when the page was
// unmapped. accesses: counts of access counters, reads and writes alike, per region of memory.
enum class Counts : std::uint8_t { requests, accesses };

class DuplicateAfter final : public PageDecision {
 public:
  struct Params {
    Counts counts = Counts::requests;
    std::uint32_t after = 8;
    void describe(ParamTable& t) {
      t.choice(
          "counts", counts,
          {{"requests", Counts::requests, "translation requests of a GPU to read the page, at its IOMMU"},
           {"accesses", Counts::accesses, "accesses to its region, by gpu.access_counters"}},
          "Events counted until the first copy of a page",
          "assumed; access counters do not distinguish reads and writes (NVIDIA, clc365.h)");
      t.count("after", after, {1, 1 << 30},
              "Requests of one GPU to read a page on another device that trigger its first copy. 1: as "
              "duplicate",
              "assumed: migrate_threshold of UVMSmart; NVIDIA's driver: 1")
          .only_when(sibling("counts").is("requests"));
    }
  };

  static constexpr Facts facts(Params const& p) {
    using enum PageEventKind;
    auto const events = p.counts == Counts::requests ? PageEvents{request, write_to_copies, fault}
                                                     : PageEvents{request, write_to_copies, fault, counted};
    return {.moves_pages = true,
            .makes_copies = true,
            .events = events,
            .counts_requests = p.counts == Counts::requests && p.after > 1,
            .stays_at_faults = p.counts == Counts::accesses};
  }
  DuplicateAfter(Params const& p, Setup const& setup)
      : params_{p}, page_bits_(setup.page_bits), spaces_(setup.spaces) {}

  PageAction decide(PageEvent const& e) override {
    bool const reads = e.access == Access::read;
    if (e.kind == PageEventKind::fault && e.cause != FaultKind::remote) return after_wait(e);
    if (reads && !e.has_copies && !is_due(e)) return PageAction::stay;
    return reads ? PageAction::copy_here : PageAction::move_here;
  }
  void forget(std::uint64_t page) override {
    for (auto& of_gpu : reads_) of_gpu.forget(page);
  }

  static auto stats() {
    using S = DuplicateAfter const&;
    return std::to_array<Stat<DuplicateAfter>>({
        {"remote_reads", "count", "Reads of a page on another device that were answered without a copy",
         StatKind::counter, [](S s) { return s.remote_reads_; }},
    });
  }
  auto members() { return std::tie(params_, page_bits_, spaces_, reads_, remote_reads_); }

 private:
  bool counts_requests() const { return params_->counts == Counts::requests; }
  // A read that faulted while the page was in flight has not been counted.
  PageAction after_wait(PageEvent const& e) const {
    bool const reads = e.cause == FaultKind::moving && e.access == Access::read;
    bool const copies = e.has_copies || (counts_requests() && params_->after == 1);
    return reads && copies ? PageAction::copy_here : PageAction::stay;
  }
  // A read of a page without copies makes the first one.
  bool is_due(PageEvent const& e) {
    if (e.kind == PageEventKind::counted) return true;
    bool due = e.kind == PageEventKind::fault && counts_requests();  // a request was
    if (e.kind == PageEventKind::request && counts_requests()) {
      while (reads_.size() <= e.gpu)
        reads_.emplace_back(static_cast<unsigned>(page_bits_), static_cast<std::uint32_t>(spaces_));
      due = ++reads_[e.gpu].of(e.page) >= params_->after;
    }
    remote_reads_ += due ? 0 : 1;
    return due;
  }

  Fixed<Params> params_;
  std::uint64_t page_bits_ = 0;
  std::uint64_t spaces_ = 0;
  std::vector<PageRecords<std::uint32_t>> reads_;  // by GPU: requests to read the page
  std::uint64_t remote_reads_ = 0;
};

}  // namespace

void duplicate_after(PolicyList<PageDecision>& list) {
  list.add<DuplicateAfter>(
      "duplicate_after",
      "remote reads, then read-only copies for pages that a GPU reads often; a write drops "
      "them and migrates the page");
}

}  // namespace farfault::page_decisions
