// SPDX-License-Identifier: Apache-2.0
// Walks, faults and the TLB of an IOMMU.
#include <doctest/doctest.h>

#include "iommu_bench.hpp"

namespace iommu_test {

using namespace farfault;
using namespace farfault::iommu_bench;

TEST_CASE("IOMMU: a walk reads the entry of each level from the CPU's memory and fills the TLB") {
  auto const table = two_pages();
  IommuBench b(spec_of(table), {{Time{100ns}, ask(kPage, 1, 7)}, {Time{200ns}, ask(kPage, 2, 8)}});
  std::vector<PhysAddr> read;
  for (auto const& r : b.cache->records()) read.push_back(r.message.address);
  CHECK(read ==
        std::vector<PhysAddr>{kTable + 8, kTable + 0x1000 + 16, kTable + 0x2000 + 24, kTable + 0x3000 + 32});
  CHECK(b.cache->nanoseconds() == Times{102, 114, 126, 138});
  CHECK(b.cache->records()[0].message.from == 6);
  CHECK(b.cache->records()[0].message.bytes == 8);
  CHECK(b.responses->nanoseconds() == Times{150, 200 + 1 + 1});
  CHECK(answer(*b.responses, 0) ==
        Answer{.page = kPage, .frame = frame_of(kPage), .size = 0, .found_by = FoundBy::iommu, .tag = 7});
  CHECK(b.responses->records()[0].message.route.destination == 11);
  CHECK(b.responses->records()[1].message.route.destination == 12);
  CHECK(answer(*b.responses, 1).tag == 8);
  CHECK(b.iommu.state().by_requester[0].tlb_hits == 1);
  CHECK(b.iommu.waiting_for().empty());
}

TEST_CASE("IOMMU: requests for one page are merged into one walk and answered in order, one per cycle") {
  auto const table = two_pages();
  IommuBench b(
      spec_of(table),
      {{Time{100ns}, ask(kPage, 1, 7)}, {Time{105ns}, ask(kPage, 2, 8)}, {Time{140ns}, ask(kPage, 1, 9)}});
  CHECK(b.cache->records().size() == 4);
  CHECK(b.responses->nanoseconds() == Times{150, 151, 152});
  CHECK(answer(*b.responses, 1).tag == 8);
  CHECK(b.iommu.state().by_requester[0].merged_misses == 2);
  CHECK(b.iommu.state().walker.walks() == 1);
}

TEST_CASE("IOMMU: without merging, requests for one page have separate walks and share the walkers") {
  auto const table = two_pages();
  auto spec = spec_of(table);
  spec.params.merge = false;
  spec.params.walkers = 2;
  spec.params.walk_cache = 0;
  spec.params.tlb_entries = 0;
  IommuBench b(
      spec,
      {{Time{100ns}, ask(kPage, 1, 7)}, {Time{105ns}, ask(kPage, 2, 8)}, {Time{110ns}, ask(kPage, 0, 9)}});
  // Each walk has 4 reads of 10 ns with a link each way; the third walk waits for the first walker.
  CHECK(b.responses->nanoseconds() == Times{150, 155, 149 + 49});
  CHECK(answer(*b.responses, 1).tag == 8);
  CHECK(b.cache->records().size() == 12);
  CHECK(b.iommu.state().by_requester[0].merged_misses == 0);
  CHECK(b.iommu.state().walker.walks() == 3);
  CHECK(b.iommu.waiting_for().empty());
}

TEST_CASE(
    "IOMMU: without merging, GPUs that touch an unmapped page together have one fault each and one frame") {
  auto const table = two_pages();
  auto spec = spec_of(table);
  spec.params.merge = false;
  IommuBench b(spec, {{Time{100ns}, ask(55, 1, 7)}, {Time{101ns}, ask(55, 2, 8)}});
  // Same as with merging: the second fault finds its page mapped, and is answered together with the first.
  CHECK(b.responses->nanoseconds() == Times{1116, 1116});
  for (std::size_t i = 0; i < b.responses->count(); ++i)
    CHECK(answer(*b.responses, i).frame == physical(1, 200 << 12));
  CHECK(b.iommu.state().by_requester[0].page_faults == 2);
  CHECK(b.driver.state().stats[0].pages_mapped == 1);
}

TEST_CASE("IOMMU: a walk with a fixed latency takes exactly that and reads nothing") {
  auto const table = two_pages();
  auto spec = spec_of(table);
  spec.params.walk_latency = 500;
  spec.params.walkers = 1;
  spec.params.tlb_entries = 0;
  IommuBench b(spec, {{Time{100ns}, ask(kPage, 1, 7)}, {Time{110ns}, ask(kPage + 1, 2, 8)}});
  CHECK(b.cache->records().empty());
  CHECK(b.responses->nanoseconds() == Times{100 + 1 + 500 + 1, 100 + 1 + 1000 + 1});
  CHECK(b.iommu.state().walker.walks() == 2);
  CHECK(b.iommu.state().walker.reads() == 0);
}

TEST_CASE("IOMMU: the page-walk cache leaves one read for a neighbouring page") {
  auto const table = two_pages();
  IommuBench b(spec_of(table), {{Time{100ns}, ask(kPage, 1, 7)}, {Time{200ns}, ask(kPage + 1, 1, 8)}});
  CHECK(b.cache->records().size() == 5);
  CHECK(b.responses->nanoseconds() == Times{150, 214});
}

TEST_CASE("IOMMU: walks beyond the number of walkers queue") {
  auto const table = two_pages();
  auto spec = spec_of(table);
  spec.params.walkers = 1;
  spec.params.walk_cache = 0;
  IommuBench b(spec, {{Time{100ns}, ask(kPage, 1, 7)}, {Time{102ns}, ask(kPage + 1, 1, 8)}});
  CHECK(b.responses->nanoseconds() == Times{150, 149 + 49});
}

TEST_CASE("IOMMU: all walkers work in parallel") {
  PageTable table(kTable, 12);
  std::vector<Record<Packet>> requests;
  for (std::uint32_t i = 0; i < 6; ++i) {
    table.map(kPage + i, frame_of(kPage + i));
    requests.push_back({Time{100ns}, ask(kPage + i, 1, i)});
  }
  auto spec = spec_of(table);
  spec.params.walkers = 4;
  spec.params.walk_cache = 0;
  IommuBench b(spec, requests);
  CHECK(b.responses->nanoseconds() == Times{150, 151, 152, 153, 149 + 49, 150 + 49});
}

TEST_CASE("IOMMU: an unmapped page is a fault, and the driver places it at its first touch") {
  auto const table = two_pages();
  IommuBench b(spec_of(table),
               {{Time{100ns}, ask(55, 1, 7)}, {Time{101ns}, ask(55, 2, 8)}, {Time{5us}, ask(55, 0, 9)}});
  // Read at 102, back at 113. The driver is notified at 114, takes 1 us, and its response arrives at 1115.
  CHECK(b.responses->nanoseconds() == Times{1116, 1117, 5002});
  for (std::size_t i = 0; i < b.responses->count(); ++i)
    CHECK(answer(*b.responses, i).frame == physical(1, 200 << 12));
  CHECK(b.iommu.state().by_requester[0].page_faults == 1);
  CHECK(b.driver.state().stats[0].page_faults == 1);
  CHECK(b.driver.state().stats[0].pages_mapped == 1);
  CHECK(b.iommu.state().table.find(55) == PageTranslation{physical(1, 200 << 12)});
}

TEST_CASE("IOMMU: a response distinguishes a table hit from a fault") {
  auto const table = two_pages();
  IommuBench b(spec_of(table), {{Time{100ns}, ask(kPage, 1, 1)},  // walk
                                {Time{200ns}, ask(kPage, 2, 2)},  // TLB hit
                                {Time{300ns}, ask(55, 1, 3)},     // unmapped
                                {Time{301ns}, ask(55, 2, 4)},     // merged with that fault
                                {Time{5us}, ask(55, 0, 5)}});     // mapped by now
  CHECK(found_by(*b.responses) ==
        Found{FoundBy::iommu, FoundBy::iommu, FoundBy::fault, FoundBy::fault, FoundBy::iommu});
}

TEST_CASE("IOMMU: a walker is free while the driver serves its fault") {
  auto const table = two_pages();
  auto spec = spec_of(table);
  spec.params.walkers = 1;
  IommuBench b(spec, {{Time{100ns}, ask(55, 1, 7)}, {Time{103ns}, ask(kPage, 2, 8)}});
  CHECK(b.cache->nanoseconds() == Times{102, 114, 126, 138, 150});
  CHECK(b.responses->nanoseconds() == Times{162, 1116});
}

TEST_CASE("IOMMU: requests beyond the page limit stall; requests for a page already held pass them") {
  auto const table = two_pages();
  auto spec = spec_of(table);
  spec.params.pages = 1;
  IommuBench b(spec,
               {{Time{100ns}, ask(55, 1, 7)}, {Time{103ns}, ask(kPage, 2, 8)}, {Time{104ns}, ask(55, 2, 9)}});
  std::vector<std::uint32_t> tags;
  for (auto const& r : b.responses->records()) tags.push_back(r.message.as<IommuResponse>().tag);
  CHECK(tags == std::vector<std::uint32_t>{7, 9, 8});
  CHECK(b.responses->nanoseconds()[0] == 1116);
  CHECK(b.responses->nanoseconds()[1] == 1117);  // it overtook request 8 and waited with the first one
}

TEST_CASE("IOMMU: under random load every request is answered exactly once with the driver's frame") {
  PageTable table(kTable, 12);
  for (std::uint64_t page = 0; page < 64; page += 2) table.map(page * 0x201, frame_of(page * 0x201));
  auto spec = spec_of(table);
  spec.params.walkers = 2;
  spec.params.tlb_entries = 8;
  spec.params.tlb_ways = 4;
  spec.params.walk_cache = 2;
  spec.params.pages = 6;
  spec.waiters = 48;
  Bench b;
  auto& iommu = b.system.add<Iommu>("iommu", spec);
  auto& driver = b.system.add<PagingDriver>("driver", driver_of(table));
  auto& client = b.system.add<Client<Packet, Packet>>(
      "client", {.total = 5000,
                 .window = 48,
                 .request =
                     [](std::uint64_t n) {
                       auto const x = n * 0x9E3779B97F4A7C15ULL >> 40;
                       return ask(x % 64 * 0x201, static_cast<std::uint16_t>(x % 3),
                                  static_cast<std::uint32_t>(n));
                     },
                 .right =
                     [&](Packet const& p) {
                       auto const m = p.as<IommuResponse>();
                       return driver.state().memory.table().find(m.page) == m.translation();
                     },
                 .tag = [](Packet const& p) { return p.as<IommuResponse>().tag; }});
  b.join(client.request, iommu.request);
  b.join(iommu.response, client.response);
  auto& cache = b.responder<MemRequest, MemResponse>(memory(scattered(200ns, 5)), iommu.entry_read);
  b.join_family(iommu.read_entry, {cache.request});
  b.join(iommu.fault, driver.fault);
  b.join(iommu.first_touch, driver.fault);
  b.join_family(driver.mapped, {iommu.mapped});
  b.join(driver.placed, iommu.mapped);
  stop_migrations(b, iommu, driver);
  b.begin(client);
  CHECK(b.run() == RunState::drained);
  CHECK(client.each_answered_once());
  CHECK(iommu.waiting_for().empty());
  auto const& s = iommu.state().by_requester[0];
  CHECK(s.page_faults == 32);
  CHECK(driver.state().stats[0].pages_mapped == 32);
  CHECK(s.tlb_hits + s.tlb_misses == 5000);
  CHECK(iommu.state().walker.walks() == s.tlb_misses - s.merged_misses);
  CHECK(cache.records().size() == iommu.state().walker.reads());
}

}  // namespace iommu_test
