// SPDX-License-Identifier: Apache-2.0
// Planning of a batch.
#include <algorithm>
#include <utility>

#include "farfault/paging/paging_driver_state.hpp"

namespace farfault {

namespace {

unsigned block_size(PagingDriverSpec const& spec) {
  return spec.page_bits >= kBlockBits ? 0 : kBlockBits - spec.page_bits;
}

}  // namespace

void BatchWorker::begin(DriverTurn& t) {
  phase_ = BatchPhase::serving;
  record_.first_fault = faults_.first_raised();
  record_.raw_faults = faults_.entries();
  record_.clients = faults_.clients();
  work_begins_ = record_.began + t.spec.batch.time;
  pages_.clear();
  auto const faults = faults_.pages();
  record_.duplicates = faults_.entries() - faults.size();
  auto const size = block_size(t.spec);
  for (auto first = faults.begin(); first != faults.end();) {
    auto const block = first_of(first->page, size);
    auto const last =
        std::find_if(first, faults.end(), [&](auto const& f) { return first_of(f.page, size) != block; });
    plan_block({first, last}, t);
    first = last;
  }
}

bool BatchWorker::may_bring(std::uint64_t page, Access access, DriverTurn const& t) const {
  if (t.s.transitions.is_in_flight(page)) return true;  // checked again when the page has arrived
  auto const& memory = t.s.memory;
  if (auto const home = memory.home(page))
    return (memory.decides_at_faults() || t.spec.gpus_end_walks) &&
           !memory.allows(page, access, device(t.spec), *home);
  return !memory.is_unallocated(page);
}

bool BatchWorker::may_prefetch(std::uint64_t page, DriverTurn const& t) const {
  if (t.s.transitions.is_in_flight(page)) return false;
  if (auto const home = t.s.memory.home(page))
    return t.s.memory.decides_at_faults() && device_of(home->frame) >= kFirstCpu &&
           !t.s.memory.is_on(page, device(t.spec));
  return !t.s.memory.is_unallocated(page) &&
         std::ranges::any_of(t.spec.buffers, [page](PageRange const& r) { return page - r.first < r.count; });
}

void BatchWorker::plan_block(std::span<FaultBatch::Entry const> faults, DriverTurn& t) {
  auto& s = t.s;
  auto const first = first_of(faults[0].page, block_size(t.spec));
  auto const pages = std::uint64_t{1} << block_size(t.spec);
  Prefetcher::Block block;
  BlockPages remote;  // faulted on, and mapped where they are
  std::uint64_t unallocated = 0;
  for (auto const& f : faults) {
    ++s.stats[f.application].page_faults;
    if (may_bring(f.page, f.access, t)) {
      bool const stays =
          !s.memory.decides_at_faults() && !s.transitions.is_in_flight(f.page) && s.memory.home(f.page);
      (stays ? remote : block.faulted).set(f.page - first);
    } else if (auto const home = s.memory.home(f.page)) {
      ++record_.duplicates;
      // Requesters that faulted before the page arrived have been answered; a second answer does no harm. The
      // IOMMU that received the request does not know about copies.
      if (t.facts.replay.by_page || device_of(home->frame) != device(t.spec)) {
        auto const iommu = static_cast<std::uint16_t>(t.spec.iommu_of_gpu[gpu_]);
        s.faults.answer({.page = f.page,
                         .gpu = device(t.spec),
                         .iommu = iommu,
                         .entry = kNoRecord,
                         .kind = FaultKind::not_mapped,
                         .recorded_by_gpu = 1},
                        {}, t);
      }
    } else {
      ++unallocated;
      ++s.stats[f.application].unallocated_faults;
    }
  }
  auto& of_gpu = s.batch.of_gpu(gpu_);
  if (unallocated != faults.size()) of_gpu.replay_pending = 1;
  auto const all_faulted = block.faulted | remote;
  if (all_faulted.none()) return;
  for (std::uint64_t p = 0; p < pages; ++p) {
    if (all_faulted[p]) continue;
    block.resident[p] = s.memory.is_on(first + p, device(t.spec)) && !s.transitions.is_in_flight(first + p);
    block.candidates[p] = !block.resident[p] && may_prefetch(first + p, t);
  }
  auto brought = all_faulted;
  if (block.faulted.any()) brought |= s.batch.prefetcher().choose(block) & block.candidates;
  // A prefetched page must not evict pages that were faulted on.
  if (pages_.size() + brought.count() > t.spec.usable_frames()) brought = all_faulted;
  auto const faulted = static_cast<std::int64_t>(all_faulted.count());
  auto const prefetched = static_cast<std::int64_t>(brought.count()) - faulted;
  auto const& times = t.spec.batch;
  auto work = times.block_time + faulted * times.page_time + prefetched * times.prefetched_page_time;
  if (std::exchange(of_gpu.served_blocks.of(first), 1) == 0) work += times.first_touch_time;
  auto next = faults.begin();
  for (std::uint64_t p = 0; p < pages; ++p) {
    if (!brought[p]) continue;
    while (next + 1 != faults.end() && next->page < first + p) ++next;
    IncomingPage page;
    page.page = first + p;
    page.application = static_cast<std::uint8_t>(next->application);  // prefetched: of the next fault
    page.faulted = all_faulted[p] ? 1 : 0;
    page.writes = page.faulted != 0 && next->access == Access::write ? 1 : 0;
    pages_.set_local(page, page.faulted != 0 && (remote[p] || s.memory.is_on(page.page, device(t.spec))));
    pages_.add(page);
  }
  pages_.end_block({.first = first, .takes = work, .left = brought.count()});
}

}  // namespace farfault
