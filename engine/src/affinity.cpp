// SPDX-License-Identifier: Apache-2.0
#include "affinity.hpp"

#ifdef FARFAULT_HWLOC
#include <hwloc.h>
#endif

#include "host.hpp"

namespace farfault {

#ifdef FARFAULT_HWLOC

struct Affinity::Topology {
  hwloc_topology_t all = nullptr;
  Topology() {
    if (hwloc_topology_init(&all) == 0 && hwloc_topology_load(all) == 0) return;
    if (all != nullptr) hwloc_topology_destroy(all);
    all = nullptr;
  }
  ~Topology() {
    if (all != nullptr) hwloc_topology_destroy(all);
  }
  Topology(Topology const&) = delete;
  Topology& operator=(Topology const&) = delete;
};

Affinity::Affinity(std::uint32_t threads)
    : topology_(std::make_unique<Topology>()), first_(rank_on_host() * threads) {}

bool Affinity::bind(std::uint32_t member) const {
  auto* const all = topology_->all;
  if (all == nullptr) return false;
  auto const cores = hwloc_get_nbobjs_by_type(all, HWLOC_OBJ_CORE);
  if (cores <= 0) return false;
  auto const wanted = first_ + member;
  auto const core_count = static_cast<std::uint32_t>(cores);
  auto* const core = hwloc_get_obj_by_type(all, HWLOC_OBJ_CORE, wanted % core_count);
  if (core == nullptr) return false;
  auto const hardware_threads = core->arity == 0 ? 1 : core->arity;
  auto* const place = core->arity == 0 ? core : core->children[wanted / core_count % hardware_threads];
  return hwloc_set_cpubind(all, place->cpuset, HWLOC_CPUBIND_THREAD) == 0;
}

void Affinity::release() const {
  auto* const all = topology_->all;
  if (all != nullptr) hwloc_set_cpubind(all, hwloc_topology_get_allowed_cpuset(all), HWLOC_CPUBIND_THREAD);
}

#else

struct Affinity::Topology {};
Affinity::Affinity(std::uint32_t) {}
bool Affinity::bind(std::uint32_t) const {
  return false;
}
void Affinity::release() const {}

#endif

Affinity::~Affinity() = default;

}  // namespace farfault
