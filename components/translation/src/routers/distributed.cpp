// SPDX-License-Identifier: Apache-2.0
#include "farfault/translation/router.hpp"

namespace farfault::routers {
namespace {

struct Distributed final : Router {
  static constexpr Facts facts() { return {.asks_iommu = false}; }
  Routing route(TranslateRequest const&, PageTable const&, Time) override { return {Route::gmmu}; }
};

}  // namespace

void distributed(PolicyList<Router>& list) {
  list.add<Distributed>(
      "distributed",
      "to the GMMU first; a walk that finds no mapping continues at the IOMMU, or is a fault "
      "(memory.fault_path)");
}

}  // namespace farfault::routers
