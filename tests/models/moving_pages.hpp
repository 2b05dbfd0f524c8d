// SPDX-License-Identifier: Apache-2.0
// Invariants of a whole machine during page migration: TLBs, outstanding accesses, and tables.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "run_model.hpp"

namespace farfault::moving_pages {

// The components of a machine by kind, and their states.
struct Machine {
  explicit Machine(System& system) {
    for (ComponentId id = 0; id < system.component_count(); ++id) {
      auto const* c = &system.component(id);
      if (auto const* sm = dynamic_cast<Sm const*>(c)) sms.push_back(sm);
      if (auto const* tlb = dynamic_cast<L2Tlb const*>(c)) l2_tlbs.push_back(tlb);
      if (auto const* slice = dynamic_cast<L2Slice const*>(c)) slices.push_back(slice);
      if (auto const* gmmu = dynamic_cast<Gmmu const*>(c)) gmmus.push_back(gmmu);
      if (auto const* iommu = dynamic_cast<Iommu const*>(c)) iommus.push_back(iommu);
      if (auto const* engine = dynamic_cast<CopyEngine const*>(c)) engines.push_back(engine);
      if (auto const* d = dynamic_cast<PagingDriver const*>(c)) driver = d;
    }
  }
  std::vector<Sm const*> sms;
  std::vector<L2Tlb const*> l2_tlbs;
  std::vector<L2Slice const*> slices;
  std::vector<Gmmu const*> gmmus;  // by GPU
  std::vector<Iommu const*> iommus;
  std::vector<CopyEngine const*> engines;  // by GPU
  PagingDriver const* driver = nullptr;
};

// Counts of violations; all must be zero at any time.
struct Violations {
  int wrong_frames = 0;   // a TLB entry with another frame than the page's
  int void_entries = 0;   // a TLB entry for a page that is being copied
  int stale_lines = 0;    // a line of a page's old frame, in a slice that is not its home
  int void_accesses = 0;  // an outstanding line in a frame without a page, or whose page is being copied
};

// Calls f(frame) for each base frame of a page.
template <class F>
void each_base_frame(PageTranslation const& t, unsigned page_bits, F&& f) {
  for (std::uint64_t i = 0; i < std::uint64_t{1} << t.size; ++i) f(t.frame + (i << page_bits));
}

inline void look(Machine const& m, unsigned page_bits, unsigned line_bytes, Violations& found) {
  auto const& driver = m.driver->state();
  std::vector<std::uint64_t>
      copied_pages;  // sorted, as the others are: look() dominates the time of these tests
  std::vector<PhysAddr> frames;
  std::vector<PhysAddr> left;
  auto const has = [](std::vector<std::uint64_t> const& sorted, std::uint64_t x) {
    return std::ranges::binary_search(sorted, x);
  };
  for (auto const& move : driver.transitions.pages()) {
    bool const stays = move.transition == Transition::map_remotely;
    if (move.in_use == 0 || move.awaits_iommus() || stays) continue;
    copied_pages.push_back(move.first_page());
    each_base_frame({move.from, move.size}, page_bits, [&](PhysAddr f) { left.push_back(f); });
  }
  std::ranges::sort(copied_pages);
  std::ranges::sort(left);
  driver.memory.table().each_page([&](std::uint64_t, PageTranslation const& t) {
    if (has(left, t.frame)) return;
    each_base_frame(t, page_bits, [&](PhysAddr f) { frames.push_back(f); });
  });
  std::ranges::sort(frames);
  for (auto const& record : driver.records.migrations()) {
    PageTranslation const from{record.from, static_cast<std::uint8_t>(record.size)};
    each_base_frame(from, page_bits, [&](PhysAddr f) {
      if (!has(frames, f)) left.push_back(f);
    });
  }
  std::ranges::sort(left);
  for (auto const* slice : m.slices)
    slice->each_line([&](PhysAddr line, bool home) {
      found.stale_lines += !home && has(left, line >> page_bits << page_bits) ? 1 : 0;
    });
  auto const check = [&](std::uint64_t page, PageTranslation const& held) {
    found.wrong_frames += driver.memory.table().find(page) != held ? 1 : 0;
    found.void_entries += has(copied_pages, page) ? 1 : 0;
  };
  for (auto const* iommu : m.iommus) iommu->state().tlb->each_entry(check);
  for (auto const* tlb : m.l2_tlbs) tlb->state().tlb->each_entry(check);
  for (auto const* gmmu : m.gmmus)
    if (gmmu->spec().ends_walks) gmmu->state().table.each_page(check);
  for (auto const* sm : m.sms) {
    auto const& s = sm->state();
    s.load_store.translation.tlb()->each_entry(check);
    for (std::uint32_t i = 0; i < s.load_store.l1_mshrs.entries(); ++i) {
      if (s.load_store.l1_mshrs.key(i) == MshrTable<std::uint32_t>::kFree) continue;
      auto const frame = s.load_store.l1_mshrs.key(i) * line_bytes >> page_bits << page_bits;
      found.void_accesses += !has(frames, frame) ? 1 : 0;
    }
  }
}

// At the end all tables agree: the driver's, the IOMMUs', and each GPU's table, which has all pages in its
// memory, and others only if walks end in the GPU.
inline void check_tables(Machine const& m) {
  auto const& table = m.driver->state().memory.table();
  std::map<PhysAddr, std::uint64_t> page_of;
  std::vector<std::uint64_t> pages_on(m.gmmus.size());
  table.each_page([&](std::uint64_t page, PageTranslation const& t) {
    CHECK(page_of.emplace(t.frame, page).second);  // no frame has two pages
    if (device_of(t.frame) < pages_on.size()) pages_on[device_of(t.frame)] += std::uint64_t{1} << t.size;
  });
  for (auto const* iommu : m.iommus)
    iommu->state().table.each_page(
        [&](std::uint64_t page, PageTranslation const& t) { CHECK(table.find(page) == t); });
  for (std::size_t g = 0; g < m.gmmus.size(); ++g) {
    auto const& own = m.gmmus[g]->state().table;
    std::uint64_t remote = 0;
    own.each_page([&](std::uint64_t page, PageTranslation const& t) {
      CHECK(table.find(page) == t);
      remote += device_of(t.frame) != g ? std::uint64_t{1} << t.size : 0;
    });
    CHECK(own.mapped_pages() == pages_on[g] + remote);
    if (!m.gmmus[g]->spec().ends_walks) CHECK(remote == 0);
  }
}

}  // namespace farfault::moving_pages
