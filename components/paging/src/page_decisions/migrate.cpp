// SPDX-License-Identifier: Apache-2.0
// A page migrates after `after` consecutive translation requests of one GPU. 1: page migration of GMMU
// Bypass, section 2.2. More: pages that several GPUs use keep their place. A fault raised while the page was
// in flight starts no further migration.
#include "farfault/paging/page_decision.hpp"
#include "farfault/paging/page_records.hpp"

namespace farfault::page_decisions {
namespace {

class Migrate final : public PageDecision {
 public:
  struct Params {
    std::uint32_t after = 1;
    void describe(ParamTable& t) {
      t.count("after", after, {1, 1 << 30},
              "Consecutive translation requests of one GPU for a remote page that trigger its migration",
              "GMMU Bypass (NPC 2020), section 2.2: the first");
    }
  };

  static constexpr Facts facts(Params const& p) {
    return {.moves_pages = true,
            .events = {PageEventKind::request, PageEventKind::fault},
            .counts_requests = p.after > 1};
  }

  Migrate(Params const& p, Setup const& setup) : params_{p} {
    if (setup.events.has(PageEventKind::request))
      touches_ = PageRecords<Touches>(setup.page_bits, setup.spaces);
  }
  PageAction decide(PageEvent const& e) override {
    bool const moves = e.kind == PageEventKind::fault ? e.cause == FaultKind::remote : is_due(e);
    return moves ? PageAction::move_here : PageAction::stay;
  }
  void forget(std::uint64_t page) override { touches_.forget(page); }
  auto members() { return std::tie(params_, unused_, touches_); }

 private:
  struct Touches {
    std::uint32_t gpu = 0;  // GPU that touched it last
    std::uint32_t in_a_row = 0;
  };
  bool is_due(PageEvent const& e) {
    auto& t = touches_.of(e.page);
    if (t.gpu != e.gpu) t.in_a_row = 0;
    t.gpu = e.gpu;
    return ++t.in_a_row >= params_->after;
  }

  Fixed<Params> params_;
  std::uint32_t unused_ = 0;
  PageRecords<Touches> touches_;
};

}  // namespace

void migrate(PolicyList<PageDecision>& list) {
  list.add<Migrate>("migrate", "migration to the GPU that accesses the page");
}

}  // namespace farfault::page_decisions
