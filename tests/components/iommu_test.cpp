// An IOMMU with the driver behind it, between CPU port and memory of mocks, clock 1 GHz, links of 1 ns.
#include "farfault/components/iommu.hpp"

#include <doctest/doctest.h>

#include "farfault/components/paging_driver.hpp"
#include "memory_mock.hpp"

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;

constexpr PhysAddr kTable = physical(kFirstCpu, 0x100'0000);
constexpr std::uint64_t kPage = ((1 * 512ULL + 2) * 512 + 3) * 512 + 4;

PhysAddr frame_of(std::uint64_t page) {
  return physical(static_cast<DeviceId>(page % 3), page << 12);
}
PageTable two_pages() {
  PageTable table(kTable, 12);
  table.map(kPage, frame_of(kPage));
  table.map(kPage + 1, frame_of(kPage + 1));
  return table;
}

// From GPU g, which is node 10 + g.
Packet ask(std::uint64_t page, std::uint16_t gpu, std::uint32_t tag) {
  Packet p{};
  p.kind = PacketKind::translate_request;
  p.address = page;
  p.tag = tag;
  p.source = static_cast<NodeId>(10 + gpu);
  p.device = gpu;
  return p;
}

IommuSpec spec_of(PageTable const& table) {
  IommuSpec spec;
  spec.memory = AddressMap(1, 256);
  spec.memory_port = 6;
  spec.preloaded = &table;
  return spec;
}
PagingDriverSpec driver_of(PageTable const& table) {
  PagingDriverSpec spec;
  spec.first_free = {100, 200, 300};
  spec.frames_a_gpu = 1000;
  spec.preloaded = &table;
  return spec;
}

struct IommuBench : Bench {
  IommuBench(IommuSpec spec, std::vector<Record<Packet>> script)
      : iommu(system.add<Iommu>("iommu", spec)),
        driver(system.add<PagingDriver>("driver", driver_of(*spec.preloaded))) {
    feed(iommu.request, std::move(script));
    answers = &sink(iommu.response);
    cache = &responder<MemRequest, MemResponse>(memory(always(10ns)), iommu.entry_read);
    join_family(iommu.read_entry, {cache->request});
    join(iommu.fault, driver.fault);
    join_family(driver.mapped, {iommu.mapped});
    run();
  }
  Iommu& iommu;
  PagingDriver& driver;
  Sink<Packet>* answers = nullptr;
  Memory* cache = nullptr;
};

}  // namespace

TEST_CASE("IOMMU: a walk reads the entry of each level from the CPU's memory; then its TLB has the page") {
  auto const table = two_pages();
  IommuBench b(spec_of(table), {{Time{100ns}, ask(kPage, 1, 7)}, {Time{200ns}, ask(kPage, 2, 8)}});
  std::vector<PhysAddr> read;
  for (auto const& r : b.cache->records()) read.push_back(r.message.address);
  CHECK(read ==
        std::vector<PhysAddr>{kTable + 8, kTable + 0x1000 + 16, kTable + 0x2000 + 24, kTable + 0x3000 + 32});
  CHECK(b.cache->nanoseconds() == Times{102, 114, 126, 138});
  CHECK(b.cache->records()[0].message.from == 6);
  CHECK(b.cache->records()[0].message.bytes == 8);
  CHECK(b.answers->nanoseconds() == Times{150, 200 + 1 + 1});
  auto const& p = b.answers->records()[0].message;
  CHECK(p.kind == PacketKind::translate_response);
  CHECK(p.address == kPage);
  CHECK(p.frame == frame_of(kPage));
  CHECK(p.tag == 7);
  CHECK(p.destination == 11);
  CHECK(b.answers->records()[1].message.destination == 12);
  CHECK(b.answers->records()[1].message.tag == 8);
  CHECK(b.iommu.state().stats.tlb_hits == 1);
  CHECK(b.iommu.waiting_for().empty());
}

TEST_CASE("IOMMU: requests for one page are merged into one walk and answered in order, a cycle each") {
  auto const table = two_pages();
  IommuBench b(
      spec_of(table),
      {{Time{100ns}, ask(kPage, 1, 7)}, {Time{105ns}, ask(kPage, 2, 8)}, {Time{140ns}, ask(kPage, 1, 9)}});
  CHECK(b.cache->records().size() == 4);
  CHECK(b.answers->nanoseconds() == Times{150, 151, 152});
  CHECK(b.answers->records()[1].message.tag == 8);
  CHECK(b.iommu.state().stats.merged == 2);
  CHECK(b.iommu.state().stats.walks == 1);
}

TEST_CASE("IOMMU: the page-walk cache leaves a neighbour one read") {
  auto const table = two_pages();
  IommuBench b(spec_of(table), {{Time{100ns}, ask(kPage, 1, 7)}, {Time{200ns}, ask(kPage + 1, 1, 8)}});
  CHECK(b.cache->records().size() == 5);
  CHECK(b.answers->nanoseconds() == Times{150, 214});
}

TEST_CASE("IOMMU: walks beyond the walkers queue") {
  auto const table = two_pages();
  auto spec = spec_of(table);
  spec.params.walkers = 1;
  spec.params.walk_cache = 0;
  IommuBench b(spec, {{Time{100ns}, ask(kPage, 1, 7)}, {Time{102ns}, ask(kPage + 1, 1, 8)}});
  CHECK(b.answers->nanoseconds() == Times{150, 149 + 49});
}

TEST_CASE("IOMMU: a page that no entry maps is a fault; the driver puts it where it was touched first") {
  auto const table = two_pages();
  IommuBench b(spec_of(table),
               {{Time{100ns}, ask(55, 1, 7)}, {Time{101ns}, ask(55, 2, 8)}, {Time{5us}, ask(55, 0, 9)}});
  // Read at 102, back at 113, the driver hears of it at 114, takes 1 us and says so at 1115.
  CHECK(b.answers->nanoseconds() == Times{1116, 1117, 5002});
  for (auto const& r : b.answers->records()) CHECK(r.message.frame == physical(1, 200 << 12));
  CHECK(b.iommu.state().stats.faults == 1);
  CHECK(b.driver.state().faults == 1);
  CHECK(b.driver.state().mapped == 1);
  CHECK(b.iommu.state().table.find(55) == physical(1, 200 << 12));
}

TEST_CASE("IOMMU: a walker is free while the driver serves its fault") {
  auto const table = two_pages();
  auto spec = spec_of(table);
  spec.params.walkers = 1;
  IommuBench b(spec, {{Time{100ns}, ask(55, 1, 7)}, {Time{103ns}, ask(kPage, 2, 8)}});
  CHECK(b.cache->nanoseconds() == Times{102, 114, 126, 138, 150});
  CHECK(b.answers->nanoseconds() == Times{162, 1116});
}

TEST_CASE("IOMMU: beyond the pages it can hold, requests stall in order and go on") {
  auto const table = two_pages();
  auto spec = spec_of(table);
  spec.params.pages = 1;
  IommuBench b(spec,
               {{Time{100ns}, ask(55, 1, 7)}, {Time{103ns}, ask(kPage, 2, 8)}, {Time{104ns}, ask(55, 2, 9)}});
  std::vector<std::uint32_t> tags;
  for (auto const& r : b.answers->records()) tags.push_back(r.message.tag);
  CHECK(tags == std::vector<std::uint32_t>{7, 9, 8});
  CHECK(b.answers->nanoseconds()[0] == 1116);
  CHECK(b.answers->nanoseconds()[1] == 1115 + 1 + 1 + 1);  // a cycle behind request 8, then a hit
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
      "client", {5000, 48,
                 [](std::uint64_t n) {
                   auto const x = n * 0x9E3779B97F4A7C15ULL >> 40;
                   return ask(x % 64 * 0x201, static_cast<std::uint16_t>(x % 3),
                              static_cast<std::uint32_t>(n));
                 },
                 [&](Packet const& p) { return driver.state().table.find(p.address) == p.frame; }});
  b.join(client.request, iommu.request);
  b.join(iommu.response, client.response);
  auto& cache = b.responder<MemRequest, MemResponse>(memory(scattered(200ns, 5)), iommu.entry_read);
  b.join_family(iommu.read_entry, {cache.request});
  b.join(iommu.fault, driver.fault);
  b.join_family(driver.mapped, {iommu.mapped});
  b.begin(client);
  CHECK(b.run() == RunState::drained);
  CHECK(client.each_answered_once());
  CHECK(iommu.waiting_for().empty());
  auto const& s = iommu.state().stats;
  CHECK(s.faults == 32);
  CHECK(driver.state().mapped == 32);
  CHECK(s.tlb_hits + s.tlb_misses == 5000);
  CHECK(s.walks == s.tlb_misses - s.merged);
  CHECK(cache.records().size() == s.walk_reads);
}

TEST_CASE("driver: faults are handled one after the other, and answered to the IOMMU that asked") {
  PageTable const table(kTable, 12);
  Bench b;
  auto& driver = b.system.add<PagingDriver>("driver", driver_of(table));
  b.feed(driver.fault,
         {{Time{100ns}, {7, 0, 1, 11}}, {Time{100ns}, {8, 2, 0, 12}}, {Time{5us}, {7, 1, 0, 13}}});
  auto const iommus = b.sinks(driver.mapped, 2);
  b.run();
  CHECK(iommus[1]->nanoseconds() == Times{100 + 1000 + 1});
  CHECK(iommus[0]->nanoseconds() == Times{100 + 2000 + 1, 5000 + 1000 + 1});
  CHECK(iommus[1]->records()[0].message.frame == physical(0, 100 << 12));
  CHECK(iommus[1]->records()[0].message.entry == 11);
  CHECK(iommus[0]->records()[0].message.frame == physical(2, 300 << 12));
  CHECK(iommus[0]->records()[1].message.frame == physical(0, 100 << 12));  // where it already lies
  CHECK(driver.state().mapped == 2);
}

TEST_CASE("driver: a full GPU's pages go to the next one that is not full, and to the CPU last") {
  PageTable const table(kTable, 12);
  auto spec = driver_of(table);
  spec.first_free = {9, 9, 10};
  spec.frames_a_gpu = 10;
  spec.first_free_cpu = 70;
  Bench b;
  auto& driver = b.system.add<PagingDriver>("driver", spec);
  std::vector<Record<PageFault>> script;
  for (std::uint64_t page = 0; page < 4; ++page) script.push_back({Time{100ns}, {page, 1, 0, 0}});
  b.feed(driver.fault, script);
  auto const iommus = b.sinks(driver.mapped, 1);
  b.run();
  std::vector<PhysAddr> frames;
  for (auto const& r : iommus[0]->records()) frames.push_back(r.message.frame);
  CHECK(frames == std::vector<PhysAddr>{physical(1, 9 << 12), physical(0, 9 << 12),
                                        physical(kFirstCpu, 70 << 12), physical(kFirstCpu, 71 << 12)});
  CHECK(driver.state().elsewhere == 3);
}
