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
  auto const first_page = [&](std::uint64_t page) { return first_of(page, size_of(page, t)); };
  auto const faults = t.spec.large.any() ? faults_.pages_by(first_page) : faults_.pages();
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

unsigned BatchWorker::size_of(std::uint64_t page, DriverTurn const& t) {
  if (!t.spec.large.any()) return 0;
  auto const& transitions = t.s.transitions;
  if (auto const home = t.s.memory.home(page)) return home->size;
  if (transitions.is_in_flight(page)) return transitions[transitions.number_of(page)].size;
  return transitions.size_for(page, t.s.memory);
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

void BatchWorker::make_whole(BlockPages& pages, std::uint64_t first, DriverTurn const& t) {
  for (std::uint64_t p = 0; p < pages.size(); ++p) {
    if (!pages[p]) continue;
    auto const size = size_of(first + p, t);
    auto const page = first_of(first + p, size) - first;
    for (auto i = page; i - page < std::uint64_t{1} << size; ++i) pages.set(i);
    p = page + (std::uint64_t{1} << size) - 1;
  }
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
      auto& faulted = stays ? remote : block.faulted;
      for (auto p = f.page; p - f.page < std::uint64_t{1} << size_of(f.page, t); ++p) faulted.set(p - first);
    } else if (auto const home = s.memory.home(f.page)) {
      ++record_.duplicates;
      // Requesters that faulted before the page arrived have been answered; a second answer does no harm. The
      // IOMMU that received the request does not know about copies.
      if (t.facts.replay.by_page || device_of(home->frame) != device(t.spec)) {
        auto const iommu = static_cast<std::uint16_t>(t.spec.iommu_of_gpu[gpu_]);
        answer({.page = f.page,
                .gpu = device(t.spec),
                .iommu = iommu,
                .entry = kNoRecord,
                .kind = FaultKind::not_mapped,
                .recorded_by_gpu = 1},
               home->size, t);
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
  if (t.spec.large.any()) make_whole(brought, first, t);
  // A prefetched page must not evict pages that were faulted on.
  auto const planned = t.spec.large.any() ? pages_.needed_base_frames() : pages_.size();
  if (planned + brought.count() > t.spec.usable_frames()) brought = all_faulted;
  std::int64_t faulted = 0, prefetched = 0;
  auto next = faults.begin();
  for (std::uint64_t p = 0, base_pages = 1; p < pages; p += base_pages) {
    base_pages = 1;
    if (!brought[p]) continue;
    while (next + 1 != faults.end() && next->page < first + p) ++next;
    IncomingPage page;
    page.page = first + p;
    page.size = static_cast<std::uint8_t>(size_of(page.page, t));
    base_pages = std::uint64_t{1} << page.size;
    page.application = static_cast<std::uint8_t>(next->application);  // prefetched: of the next fault
    page.faulted = all_faulted[p] ? 1 : 0;
    page.writes = page.faulted != 0 && next->access == Access::write ? 1 : 0;
    pages_.set_local(page, page.faulted != 0 && (remote[p] || s.memory.is_on(page.page, device(t.spec))));
    pages_.add(page);
    ++(page.faulted != 0 ? faulted : prefetched);
  }
  auto const& times = t.spec.batch;
  auto work = times.block_time + faulted * times.page_time + prefetched * times.prefetched_page_time;
  if (std::exchange(of_gpu.served_blocks.of(first), 1) == 0) work += times.first_touch_time;
  auto const left = static_cast<std::uint64_t>(faulted + prefetched);
  pages_.end_block({.first = first, .takes = work, .left = left});
}

}  // namespace farfault
