// SPDX-License-Identifier: Apache-2.0
#include "farfault/translation/router.hpp"

namespace farfault::routers {
namespace {

struct Oracle final : Router {
  Routing route(TranslateRequest const& request, PageTable const& here, Time) override {
    return {here.find(request.page) ? Route::gmmu : Route::iommu};
  }
};

}  // namespace

void oracle(PolicyList<Router>& list) {
  list.add<Oracle>("oracle", "to the GMMU if this GPU's page table maps the page, else to the IOMMU");
}

}  // namespace farfault::routers
