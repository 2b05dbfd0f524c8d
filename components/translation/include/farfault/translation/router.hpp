// SPDX-License-Identifier: Apache-2.0
// Router: sends an L2 TLB miss to the GPU's own walkers (GMMU), to the IOMMU on the CPU side, or to both.
//
// - route() is called once per request, when the GMMU admits it. observe() is called once per request, later,
//   as soon as the GMMU knows whether the page was in this GPU's memory: at the end of the walk or when the
//   IOMMU responds. Calls are in order of time.
// - A request that a walk does not find is forwarded to the IOMMU, or faults (fault_path.hpp), without a call
//   of the router.
// - A router has the request, its own observations, and the GPU's current page table (for an oracle; hardware
//   could not read it). If walks end in the GPU, that table has remote mappings, too.
// - Facts: whether it sends some requests to the walkers (walks), and some to the IOMMU (asks_iommu).
// - Every route gives a correct translation; only the cost differs.
// - Source: Wei et al., "Dynamic GMMU Bypass for Address Translation in Multi-GPU Systems", NPC 2020,
//   sections 2.3 and 4.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"
#include "farfault/engine/time.hpp"
#include "farfault/protocols/messages.hpp"
#include "farfault/translation/page_table.hpp"

namespace farfault {

enum class Route : std::uint8_t { gmmu, iommu, both };

struct Routing {
  Route to = Route::gmmu;
  std::uint8_t note = 0;  // private to the router; passed back to observe()

  constexpr Routing() = default;
  constexpr Routing(Route where, std::uint8_t what = 0)
      : to(where), note(what) {}  // NOLINT: a Route suffices
};

class Router {
 public:
  using Interface = Router;
  struct Setup {};
  struct Facts {
    bool walks = true;
    bool asks_iommu = true;
  };
  static PolicyList<Router> known();

  virtual ~Router() = default;
  virtual Routing route(TranslateRequest const& request, PageTable const& here, Time now) = 0;
  virtual void observe(TranslateRequest const& request, Routing const& routing, bool local, Time now) {
    static_cast<void>(request);
    static_cast<void>(routing);
    static_cast<void>(local);
    static_cast<void>(now);
  }
};

struct RouterParams {
  PolicyChoice<Router> policy{"distributed"};
  void describe(ParamTable& t) {
    policy.describe(t, "policy", "Routing of L2 TLB misses", "GMMU Bypass (NPC 2020), sections 2.3 and 4");
  }
};

extern template class PolicyChoice<Router>;

}  // namespace farfault
