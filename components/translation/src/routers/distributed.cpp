// SPDX-License-Identifier: Apache-2.0
#include "farfault/translation/router.hpp"

namespace farfault::routers {
namespace {

struct Distributed final : Router {
  Routing route(TranslateRequest const&, PageTable const&, Time) override { return {Route::gmmu}; }
};

}  // namespace

void distributed(PolicyList<Router>& list) {
  list.add<Distributed>("distributed", "to the GMMU first, then to the IOMMU if the walk finds no mapping");
}

}  // namespace farfault::routers
