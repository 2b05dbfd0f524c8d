// SPDX-License-Identifier: Apache-2.0
#include "access_stages.hpp"

#include <utility>

#include "farfault/compute/load_store_state.hpp"

namespace farfault {
namespace {

// A wait with a stage that may be longer than a response can report.
bool is_long(Duration waited) {
  return waited >= Duration{kLongest};
}

}  // namespace

void count_translation(TranslateResponse const& m, Duration waited, AccessStages& stages) {
  auto const behind = m.stages.last_of(waited);
  stages.walk_queue += behind.walk_queue;
  stages.walk += behind.walk;
  stages.links += behind.link;
  auto& at_iommu = m.found_by == FoundBy::fault ? stages.fault : stages.iommu;
  at_iommu += behind.iommu;
  auto* own = &stages.l2_tlb;
  if (is_long(waited)) [[unlikely]] {
    auto const longest = behind.at_limit();
    if (longest == &TranslationStages::iommu)
      own = &at_iommu;
    else if (longest == &TranslationStages::walk)
      own = &stages.walk;
    else if (longest == &TranslationStages::walk_queue)
      own = &stages.walk_queue;
  }
  *own += ps(waited - behind.sum());
}

void count_translations(TranslateResponse const& m, SharedWait const& all, AccessStages& stages) {
  stages.walk_queue += all.number() * m.stages.walk_queue;
  stages.walk += all.number() * m.stages.walk;
  stages.links += all.number() * m.stages.link;
  (m.found_by == FoundBy::fault ? stages.fault : stages.iommu) += all.number() * m.stages.iommu;
  stages.l2_tlb += all.own();
}

void count_load(MemResponse const& m, bool remote, Duration waited, AccessStages& stages) {
  auto const behind = m.stages.last_of(waited);
  stages.dram_queue += behind.dram_queue;
  stages.dram += behind.dram;
  stages.remote_memory += behind.device;
  auto* own = remote ? &stages.links : &stages.l2_cache;
  if (is_long(waited)) [[unlikely]] {
    auto const longest = behind.at_limit();
    if (longest == &MemoryStages::device)
      own = &stages.remote_memory;
    else if (longest == &MemoryStages::dram_queue)
      own = &stages.dram_queue;
  }
  *own += ps(waited - behind.sum());
}

void count_loads(MemResponse const& m, bool remote, SharedWait const& all, AccessStages& stages) {
  stages.dram_queue += all.number() * m.stages.dram_queue;
  stages.dram += all.number() * m.stages.dram;
  stages.remote_memory += all.number() * m.stages.device;
  (remote ? stages.links : stages.l2_cache) += all.own();
}

// Acknowledgements do not identify a store: only the total time of a warp's stores is known, once all have
// been acknowledged.
void count_stores(MemResponse const& m, bool remote, Warp& w, SmStats& stats,
                  OutstandingAccesses& outstanding, Time now) {
  auto const lines = m.train.lines();
  auto& time = remote ? w.remote_store_time : w.store_time;
  stats.access_time += outstanding.advance(now);
  outstanding.number -= lines;
  for (std::uint32_t i = 0; i < lines; ++i) {
    auto const at = usable(m.train, i, now);
    time += ps(at.time_since_epoch()) - m.stages.device;
    stats.access_time += ps(at - now);
  }
  stats.stages.remote_memory += std::uint64_t{m.stages.device} * lines;
  if (w.stores != 0) return;
  stats.stages.l2_cache += std::exchange(w.store_time, 0);
  stats.stages.links += std::exchange(w.remote_store_time, 0);
}

}  // namespace farfault
