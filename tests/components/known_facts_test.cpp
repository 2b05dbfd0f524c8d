// SPDX-License-Identifier: Apache-2.0
// Facts of the policies of this project that no test of the policy itself checks.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "choices.hpp"
#include "farfault/fabric/copy_data.hpp"
#include "farfault/memory/memory_contents.hpp"
#include "farfault/paging/compaction.hpp"
#include "farfault/paging/eviction_order.hpp"
#include "farfault/paging/frame_allocator.hpp"
#include "farfault/paging/memory_scope.hpp"
#include "farfault/paging/page_decision.hpp"
#include "farfault/paging/page_placement.hpp"
#include "farfault/paging/page_sizes.hpp"
#include "farfault/translation/fault_path.hpp"
#include "policies.hpp"

namespace known_facts_test {

namespace {

using namespace farfault;
using test::chosen;

// The implementations that have a fact, in the order of their names.
template <class I, class Has>
std::vector<std::string> names_with(Has&& has) {
  std::vector<std::string> names;
  for (auto const& name : test::names_of_known<I>())
    if (has(PolicyChoice<I>(name).facts())) names.push_back(name);
  std::ranges::sort(names);
  return names;
}
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("facts of remote access: policies that move pages, make copies, and decide at each event") {
  using Facts = PageDecision::Facts;
  CHECK(names_with<PageDecision>([](Facts const& f) { return f.moves_pages; }) ==
        Names{"access_counters", "duplicate", "duplicate_after", "grit", "migrate"});
  CHECK(names_with<PageDecision>([](Facts const& f) { return f.makes_copies; }) ==
        Names{"duplicate", "duplicate_after", "grit"});
  auto const deciding_at = [](PageEventKind kind) {
    return names_with<PageDecision>([&](Facts const& f) { return f.events.has(kind); });
  };
  CHECK(deciding_at(PageEventKind::request) == Names{"duplicate", "duplicate_after", "migrate"});
  CHECK(deciding_at(PageEventKind::write_to_copies) == Names{"duplicate", "duplicate_after"});
  CHECK(deciding_at(PageEventKind::fault) == Names{"duplicate", "duplicate_after", "grit", "migrate"});
  CHECK(deciding_at(PageEventKind::counted) == Names{"access_counters", "grit"});
  CHECK(names_with<PageDecision>([](Facts const& f) { return f.stays_at_faults; }) == Names{"grit"});
  CHECK(chosen<PageDecision>("access_counters", {{"first_access", "faults"}}).facts().stays_at_faults);
}

TEST_CASE("facts of remote access: policies count requests if they wait for more than one") {
  CHECK(names_with<PageDecision>([](PageDecision::Facts const& f) { return f.counts_requests; }) ==
        Names{"duplicate_after"});
  CHECK(chosen<PageDecision>("migrate", {{"after", "2"}}).facts().counts_requests);
  CHECK_FALSE(chosen<PageDecision>("duplicate_after", {{"after", "1"}}).facts().counts_requests);
  CHECK_FALSE(chosen<PageDecision>("duplicate_after", {{"counts", "accesses"}}).facts().counts_requests);
}

TEST_CASE("facts of page sizes: buffers with large pages, coalescing in place and after moves") {
  using Facts = PageSizes::Facts;
  using Large = PageSizes::LargeBuffers;
  CHECK(names_with<PageSizes>([](Facts const& f) { return f.large_buffers == Large::chosen; }) ==
        Names{"by_buffer"});
  CHECK(names_with<PageSizes>([](Facts const& f) { return f.large_buffers == Large::all; }) ==
        Names{"large_only"});
  CHECK(names_with<PageSizes>([](Facts const& f) { return f.rounds_up; }) == Names{"large_only"});
  CHECK(names_with<PageSizes>([](Facts const& f) { return f.coalesces; }) ==
        Names{"in_place_coalescer", "migrating_coalescer"});
  CHECK(names_with<PageSizes>([](Facts const& f) { return f.moves_to_coalesce; }) ==
        Names{"migrating_coalescer"});
}

TEST_CASE("facts of compaction: who copies, and how long a copy within memory takes") {
  using Facts = Compaction::Facts;
  CHECK(names_with<Compaction>([](Facts const& f) { return !f.compacts; }) == Names{"none"});
  CHECK(names_with<Compaction>([](Facts const& f) { return !f.takes_time; }) == Names{"ideal"});
  CHECK(names_with<Compaction>([](Facts const& f) { return f.time_in_memory.has_value(); }) ==
        Names{"cac_bulk_copy"});
  auto const copies = chosen<Compaction>("cac_bulk_copy", {{"time", "33ns"}, {"at_a_time", "4"}}).facts();
  CHECK(copies.time_in_memory == 33ns);
  CHECK(copies.at_a_time == 4);
  CHECK(names_with<FrameAllocator>([](FrameAllocator::Facts const& f) { return f.compacts; }) ==
        Names{"contiguity_conserving"});
}

TEST_CASE("facts of page placement: 'first_touch' and 'recorded' leave out pages") {
  CHECK(names_with<PagePlacement>([](PagePlacement::Facts const& f) { return f.leaves_out; }) ==
        Names{"first_touch", "recorded"});
}

TEST_CASE("facts of eviction: only 'lru' depends on accesses, in epochs of its parameter") {
  CHECK(names_with<EvictionOrder>(
            [](EvictionOrder::Facts const& f) { return f.epoch != Duration::zero(); }) == Names{"lru"});
  CHECK(chosen<EvictionOrder>("lru", {{"epoch", "7us"}}).facts().epoch == 7us);
}

TEST_CASE("facts of the fault path: a GPU records every kind of fault with 'gpu', none with 'iommu'") {
  std::uint32_t const gpu = PolicyChoice<FaultPath>("gpu").facts().recorded_by_gpu;
  for (auto const kind : {FaultKind::not_mapped, FaultKind::remote, FaultKind::moving, FaultKind::copied})
    CHECK((gpu >> static_cast<unsigned>(kind) & 1) == 1);
  CHECK(PolicyChoice<FaultPath>("iommu").facts().recorded_by_gpu == 0);
  CHECK(PolicyChoice<FaultPath>("gpu").facts().gpu_ends_walks());
  CHECK_FALSE(PolicyChoice<FaultPath>("iommu").facts().gpu_ends_walks());
  CHECK_FALSE(FaultPath::Facts{.recorded_by_gpu = 7}.gpu_ends_walks());
}

TEST_CASE("facts of the memory scope: instances of one machine, of some, and of all") {
  auto const instances = [](MemoryScope::Facts const& scope) {
    std::vector<std::uint32_t> of_machine;
    for (std::uint32_t m = 0; m < 5; ++m) of_machine.push_back(scope.instance_of(m));
    return of_machine;
  };
  CHECK(instances(PolicyChoice<MemoryScope>("node").facts()) == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
  CHECK(instances({.machines = 2}) == std::vector<std::uint32_t>{0, 0, 1, 1, 2});
  CHECK(instances(PolicyChoice<MemoryScope>("cluster").facts()) == std::vector<std::uint32_t>(5, 0));
}

TEST_CASE("facts of copies: bytes on the links are rounded up, and a line takes at least one") {
  auto const raw = PolicyChoice<CopyData>("raw").facts();
  CHECK(raw.payload(128) == 128);
  CHECK(raw.payload(1) == 1);
  CHECK(raw.latency == Duration::zero());
  auto const compressed = chosen<CopyData>("compressed", {{"ratio", "1.5"}, {"latency", "20ns"}}).facts();
  CHECK(compressed.payload(64) == 43);
  CHECK(compressed.payload(63) == 42);
  CHECK(compressed.payload(1) == 1);
  CHECK(compressed.latency == 20ns);
  CHECK(chosen<CopyData>("compressed", {{"ratio", "1.0006"}}).facts().ratio == 1001);
}

TEST_CASE("facts of memory contents: pages in the space of uncompressed ones are rounded down") {
  auto const plain = PolicyChoice<MemoryContents>("plain").facts();
  CHECK(plain.pages(1001) == 1001);
  CHECK(plain.latency == Duration::zero());
  auto const compressed =
      chosen<MemoryContents>("compressed", {{"ratio", "1.5"}, {"latency", "9ns"}}).facts();
  CHECK(compressed.pages(1001) == 1501);
  CHECK(compressed.latency == 9ns);
}

}  // namespace known_facts_test
