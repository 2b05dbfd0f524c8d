// SPDX-License-Identifier: Apache-2.0
#include "farfault/translation/tlb_fill.hpp"

namespace farfault::tlb_fills {
namespace {

struct Always final : TlbFill {
  std::optional<PageTranslation> lookup_bypassed(std::uint64_t, Access) override { return std::nullopt; }
  void looked_up(Requester const&, bool, Time) override {}
  bool fills(Requester const&, Time) override { return true; }
  void keep_bypassed(std::uint64_t, PageTranslation const&) override {}
  bool invalidate(std::uint64_t) override { return false; }
  std::uint64_t invalidate_all() override { return 0; }
};

}  // namespace

void always(PolicyList<TlbFill>& list) {
  list.add<Always>("always", "all translations");
}

}  // namespace farfault::tlb_fills
