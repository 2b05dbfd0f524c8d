// SPDX-License-Identifier: Apache-2.0
#include "farfault/translation/router.hpp"

namespace farfault::routers {
namespace {

struct Centralized final : Router {
  static constexpr Facts facts() { return {.walks = false}; }
  Routing route(TranslateRequest const&, PageTable const&, Time) override { return {Route::iommu}; }
};

}  // namespace

void centralized(PolicyList<Router>& list) {
  list.add<Centralized>("centralized", "always to the IOMMU");
}

}  // namespace farfault::routers
