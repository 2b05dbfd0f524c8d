// SPDX-License-Identifier: Apache-2.0
// Where an L2 TLB miss goes: to the GPU's own walkers (GMMU), to the IOMMU on the CPU side, or to both at
// once.
//
// Contract: route() is called once for each request, when the GMMU admits it; observe() once for each, later,
// as soon as the GMMU knows whether the page was in this GPU's memory: at the end of its walk, or when the
// IOMMU responds. A request that a walk does not find goes on to the IOMMU by itself. Calls come in order of
// time. A router knows the request, the GPU's own page table as it is now (a real one could not; an oracle
// does), and what it has observed. Any answer is correct, and costs what it costs.
//
// Source: Wei et al., "Dynamic GMMU Bypass for Address Translation in Multi-GPU Systems", NPC 2020, sections
// 2.3 and 4.
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
  std::uint8_t note = 0;  // for the router alone: observe() is told of it

  constexpr Routing() = default;
  constexpr Routing(Route where, std::uint8_t what = 0)
      : to(where), note(what) {}  // NOLINT: a Route alone will do
};

class Router {
 public:
  using Interface = Router;
  struct Setup {};
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
    policy.describe(t, "policy", "where an L2 TLB miss goes", "GMMU Bypass, sections 2.3 and 4");
  }
};

extern template class PolicyChoice<Router>;

}  // namespace farfault
