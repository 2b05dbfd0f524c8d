// SPDX-License-Identifier: Apache-2.0
#include "access_counts.hpp"

#include <algorithm>

namespace farfault::analysis {

CountInfo const& info_of(AccessCount count) {
  using enum AccessCount;
  static constexpr std::array<CountInfo, 9> all{{
      {"accesses", "accesses", "", accesses},
      {"l1_tlb_misses", "L1 TLB misses", "of accesses", accesses},
      {"l2_tlb_misses", "L2 TLB misses", "of L1 TLB misses", l1_tlb_misses},
      {"iommu_translations", "IOMMU translations", "of L2 TLB misses", l2_tlb_misses},
      {"fault_translations", "accesses with a page fault", "of accesses", accesses},
      {"l2_requests", "requests to the GPU's own L2 cache", "of accesses", accesses},
      {"l2_misses", "L2 cache misses", "of L2 cache requests", l2_requests},
      {"remote_accesses", "remote accesses", "of accesses", accesses},
      {"link_bytes", "bytes of the busiest link", "per access", accesses},
  }};
  return all[static_cast<std::size_t>(count)];
}

Amount count_in(SmFigures const& figures, AccessCount count) {
  using enum AccessCount;
  switch (count) {
    case accesses:
      return figures.at("transactions");
    case l1_tlb_misses:
      return figures.at("l1_tlb_misses");
    case l2_tlb_misses:
      return std::max(Amount(), figures.at("l1_tlb_misses") - figures.at("l2_tlb_hits"));
    case iommu_translations:
      return figures.at("iommu_translations");
    case fault_translations:
      return figures.at("fault_translations");
    case l2_requests:
      return figures.at("l2_hits") + figures.at("l2_misses");
    case l2_misses:
      return figures.at("l2_misses");
    case remote_accesses:
      return figures.at("remote_accesses");
    case link_bytes:
      return figures.at("link_bytes");
  }
  return {};
}

std::string_view StageInfo::figure() const {
  return name.substr(std::string_view("sm_").size());
}

std::string StageInfo::cause() const {
  constexpr std::string_view kStage = "sm_time_in_";
  return (name.starts_with(kStage) ? std::string(name.substr(kStage.size())) : std::string("outstanding")) +
         "_time";
}

Amount StageInfo::visits(SmFigures const& figures) const {
  if (counts.empty()) return count_in(figures, AccessCount::accesses);
  Amount sum;
  for (auto const count : counts) sum += count_in(figures, count);
  return sum;
}

std::vector<StageInfo> const& stage_infos() {
  static auto const all = [] {
    using enum AccessCount;
    struct Reached {
      std::string_view stage;
      std::string_view per;
      std::vector<AccessCount> counts;
    };
    std::vector<Reached> const reached{
        {"sm_time_in_l2_tlb", "per L1 TLB miss", {l1_tlb_misses}},
        {"sm_time_in_walk_queue", "per L2 TLB miss", {l2_tlb_misses}},
        {"sm_time_in_walk", "per L2 TLB miss", {l2_tlb_misses}},
        {"sm_time_in_iommu", "per IOMMU translation", {iommu_translations}},
        {"sm_time_in_fault", "per access with a page fault", {fault_translations}},
        {"sm_time_in_l2_cache", "per L2 cache request", {l2_requests}},
        {"sm_time_in_dram_queue", "per L2 cache miss", {l2_misses}},
        {"sm_time_in_dram", "per L2 cache miss", {l2_misses}},
        {"sm_time_in_links", "per remote access or IOMMU translation", {remote_accesses, iommu_translations}},
        {"sm_time_in_remote_memory", "per remote access", {remote_accesses}}};
    std::vector<StageInfo> stages;
    for (auto const& [name, what] : kAccesses) {
      if (std::string_view(name) == "sm_time_in_load_store") continue;
      auto const found = std::ranges::find(reached, std::string_view(name), &Reached::stage);
      stages.push_back(found == reached.end() ? StageInfo{name, what, "per access", {}}
                                              : StageInfo{name, what, found->per, found->counts});
    }
    return stages;
  }();
  return all;
}

std::vector<CountChange> changes_of(AccessCount count, SmFigures const& a, Ratio scale_a, SmFigures const& b,
                                    Ratio scale_b) {
  if (count == AccessCount::accesses) return {};
  auto const parent = info_of(count).parent;
  auto changes = changes_of(parent, a, scale_a, b, scale_b);
  auto own = scaled(count_in(b, count), scale_b) - scaled(count_in(a, count), scale_a);
  for (auto& c : changes) {
    c.change = at_mean(c.change, {count_in(a, count), count_in(a, parent)},
                       {count_in(b, count), count_in(b, parent)});
    own -= c.change;
  }
  changes.push_back({count, own});
  return changes;
}

}  // namespace farfault::analysis
