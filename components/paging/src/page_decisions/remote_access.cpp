// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/page_decision.hpp"

namespace farfault::page_decisions {
namespace {

struct RemoteAccess final : PageDecision {
  static constexpr Facts facts() { return {.moves_pages = false}; }
  PageAction decide(PageEvent const&) override { return PageAction::stay; }
  void forget(std::uint64_t) override {}
};

}  // namespace

void remote_access(PolicyList<PageDecision>& list) {
  list.add<RemoteAccess>("remote_access", "access over the interconnect, without migration");
}

}  // namespace farfault::page_decisions
