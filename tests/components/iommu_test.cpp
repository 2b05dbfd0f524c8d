// An IOMMU with the driver behind it, between CPU port and memory of mocks, clock 1 GHz, links of 1 ns.
#include "farfault/components/iommu.hpp"

#include <doctest/doctest.h>

#include "farfault/components/paging_driver.hpp"
#include "memory_mock.hpp"

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;
using Found = std::vector<FoundBy>;

Found found_by(Sink<Packet> const& answers) {
  Found all;
  for (auto const& r : answers.records())
    if (r.message.kind == PacketKind::translate_response) all.push_back(r.message.found_by);
  return all;
}

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
  spec.frames_per_gpu = 1000;
  spec.preloaded = &table;
  return spec;
}

// Wires what a page that moves would need.
void nothing_moves(Bench& b, Iommu& iommu, PagingDriver& driver) {
  b.join(iommu.unmapped, driver.unmapped);
  b.join_family(driver.move, {iommu.move});
  b.idle(iommu.invalidated, driver.copied);
  b.sinks(driver.copy, 3);
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
    join(iommu.first_touch, driver.fault);
    join_family(driver.mapped, {iommu.mapped});
    join(driver.placed, iommu.mapped);
    nothing_moves(*this, iommu, driver);
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

TEST_CASE("IOMMU: requests for one page are merged into one walk and answered in order, one per cycle") {
  auto const table = two_pages();
  IommuBench b(
      spec_of(table),
      {{Time{100ns}, ask(kPage, 1, 7)}, {Time{105ns}, ask(kPage, 2, 8)}, {Time{140ns}, ask(kPage, 1, 9)}});
  CHECK(b.cache->records().size() == 4);
  CHECK(b.answers->nanoseconds() == Times{150, 151, 152});
  CHECK(b.answers->records()[1].message.tag == 8);
  CHECK(b.iommu.state().stats.merged_misses == 2);
  CHECK(b.iommu.state().walker.walks() == 1);
}

TEST_CASE("IOMMU: without merging, requests for one page have a walk each and share the walkers") {
  auto const table = two_pages();
  auto spec = spec_of(table);
  spec.params.merge = false;
  spec.params.walkers = 2;
  spec.params.walk_cache = 0;
  spec.params.tlb_entries = 0;
  IommuBench b(
      spec,
      {{Time{100ns}, ask(kPage, 1, 7)}, {Time{105ns}, ask(kPage, 2, 8)}, {Time{110ns}, ask(kPage, 0, 9)}});
  // Each walk is 4 reads of 10 ns with a link there and back; the third waits for the first walker.
  CHECK(b.answers->nanoseconds() == Times{150, 155, 149 + 49});
  CHECK(b.answers->records()[1].message.tag == 8);
  CHECK(b.cache->records().size() == 12);
  CHECK(b.iommu.state().stats.merged_misses == 0);
  CHECK(b.iommu.state().walker.walks() == 3);
  CHECK(b.iommu.waiting_for().empty());
}

TEST_CASE(
    "IOMMU: without merging, GPUs that touch an unmapped page at a time have a fault each and one frame") {
  auto const table = two_pages();
  auto spec = spec_of(table);
  spec.params.merge = false;
  IommuBench b(spec, {{Time{100ns}, ask(55, 1, 7)}, {Time{101ns}, ask(55, 2, 8)}});
  // As with merging: the second fault finds its page mapped, and is answered with the first.
  CHECK(b.answers->nanoseconds() == Times{1116, 1116});
  for (auto const& r : b.answers->records()) CHECK(r.message.frame == physical(1, 200 << 12));
  CHECK(b.iommu.state().stats.page_faults == 2);
  CHECK(b.driver.state().stats.pages_mapped == 1);
}

TEST_CASE("IOMMU: a walk of fixed latency takes just that and reads nothing") {
  auto const table = two_pages();
  auto spec = spec_of(table);
  spec.params.walk_latency = 500;
  spec.params.walkers = 1;
  spec.params.tlb_entries = 0;
  IommuBench b(spec, {{Time{100ns}, ask(kPage, 1, 7)}, {Time{110ns}, ask(kPage + 1, 2, 8)}});
  CHECK(b.cache->records().empty());
  CHECK(b.answers->nanoseconds() == Times{100 + 1 + 500 + 1, 100 + 1 + 1000 + 1});
  CHECK(b.iommu.state().walker.walks() == 2);
  CHECK(b.iommu.state().walker.reads() == 0);
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

TEST_CASE("IOMMU: every walker walks at the same time") {
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
  CHECK(b.answers->nanoseconds() == Times{150, 151, 152, 153, 149 + 49, 150 + 49});
}

TEST_CASE("IOMMU: a page that no entry maps is a fault; the driver puts it where it was touched first") {
  auto const table = two_pages();
  IommuBench b(spec_of(table),
               {{Time{100ns}, ask(55, 1, 7)}, {Time{101ns}, ask(55, 2, 8)}, {Time{5us}, ask(55, 0, 9)}});
  // Read at 102, back at 113, the driver hears of it at 114, takes 1 us and says so at 1115.
  CHECK(b.answers->nanoseconds() == Times{1116, 1117, 5002});
  for (auto const& r : b.answers->records()) CHECK(r.message.frame == physical(1, 200 << 12));
  CHECK(b.iommu.state().stats.page_faults == 1);
  CHECK(b.driver.state().stats.page_faults == 1);
  CHECK(b.driver.state().stats.pages_mapped == 1);
  CHECK(b.iommu.state().table.find(55) == physical(1, 200 << 12));
}

TEST_CASE("IOMMU: an answer says whether a table had the page or a fault has put it there") {
  auto const table = two_pages();
  IommuBench b(spec_of(table), {{Time{100ns}, ask(kPage, 1, 1)},  // walked for
                                {Time{200ns}, ask(kPage, 2, 2)},  // hits the TLB
                                {Time{300ns}, ask(55, 1, 3)},     // mapped by no entry
                                {Time{301ns}, ask(55, 2, 4)},     // joins that fault
                                {Time{5us}, ask(55, 0, 5)}});     // mapped since
  CHECK(found_by(*b.answers) ==
        Found{FoundBy::table, FoundBy::table, FoundBy::fault, FoundBy::fault, FoundBy::table});
}

TEST_CASE("IOMMU: a walker is free while the driver serves its fault") {
  auto const table = two_pages();
  auto spec = spec_of(table);
  spec.params.walkers = 1;
  IommuBench b(spec, {{Time{100ns}, ask(55, 1, 7)}, {Time{103ns}, ask(kPage, 2, 8)}});
  CHECK(b.cache->nanoseconds() == Times{102, 114, 126, 138, 150});
  CHECK(b.answers->nanoseconds() == Times{162, 1116});
}

TEST_CASE("IOMMU: beyond the pages it can hold, requests stall and resume in order") {
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
  b.join(iommu.first_touch, driver.fault);
  b.join_family(driver.mapped, {iommu.mapped});
  b.join(driver.placed, iommu.mapped);
  nothing_moves(b, iommu, driver);
  b.begin(client);
  CHECK(b.run() == RunState::drained);
  CHECK(client.each_answered_once());
  CHECK(iommu.waiting_for().empty());
  auto const& s = iommu.state().stats;
  CHECK(s.page_faults == 32);
  CHECK(driver.state().stats.pages_mapped == 32);
  CHECK(s.tlb_hits + s.tlb_misses == 5000);
  CHECK(iommu.state().walker.walks() == s.tlb_misses - s.merged_misses);
  CHECK(cache.records().size() == iommu.state().walker.reads());
}

namespace {

// An IOMMU that has pages moved, its driver and its GPUs being scripts: GPUs 0 to 2 are nodes 10 to 12.
struct MovingBench : Bench {
  struct Script {
    std::vector<Record<Packet>> requests = {};
    std::vector<Record<PageMapped>> mapped = {};
    std::vector<Record<PageMove>> moves = {};
    std::vector<Record<Invalidated>> invalidated = {};
  };
  MovingBench(IommuSpec spec, Script script) : iommu(system.add<Iommu>("iommu", moving(std::move(spec)))) {
    feed(iommu.request, std::move(script.requests));
    feed(iommu.mapped, std::move(script.mapped));
    feed(iommu.move, std::move(script.moves));
    feed(iommu.invalidated, std::move(script.invalidated));
    out = &sink(iommu.response);
    faults = &sink(iommu.fault);
    sink(iommu.first_touch);
    unmapped = &sink(iommu.unmapped);
    cache = &responder<MemRequest, MemResponse>(memory(always(10ns)), iommu.entry_read);
    join_family(iommu.read_entry, {cache->request});
    run();
  }
  static IommuSpec moving(IommuSpec spec) {
    spec.remote_touch = RemoteTouch::migrate;
    spec.gpus = {{0, 10}, {1, 11}, {2, 12}};
    spec.moves = 2;
    return spec;
  }
  // The destinations of the packets of a kind.
  std::vector<NodeId> receivers(PacketKind kind) const {
    std::vector<NodeId> nodes;
    for (auto const& r : out->records())
      if (r.message.kind == kind) nodes.push_back(r.message.destination);
    return nodes;
  }
  Iommu& iommu;
  Sink<Packet>* out = nullptr;
  Sink<PageFault>* faults = nullptr;
  Sink<PageUnmapped>* unmapped = nullptr;
  Memory* cache = nullptr;
};

using Nodes = std::vector<NodeId>;

constexpr std::uint64_t kOnGpu1 = kPage + 2;
constexpr PhysAddr kHere = physical(1, 5 << 12);  // where kOnGpu1 lies
PageTable page_on_gpu1() {
  PageTable table(kTable, 12);
  table.map(kOnGpu1, kHere);
  return table;
}
constexpr PageMove unmap(std::uint32_t move, std::uint64_t page, PhysAddr frame) {
  return {page, frame, move, MoveStep::unmap, {}};
}
constexpr PageMove remap(std::uint32_t move, std::uint64_t page, PhysAddr frame) {
  return {page, frame, move, MoveStep::remap, {}};
}

}  // namespace

TEST_CASE("IOMMU: with migration the walk of a page on another device is a fault of the first requester") {
  auto const table = page_on_gpu1();
  auto const there = physical(2, 77 << 12);
  MovingBench b(spec_of(table),
                {.requests = {{Time{100ns}, ask(kOnGpu1, 2, 7)}, {Time{110ns}, ask(kOnGpu1, 0, 8)}},
                 .mapped = {{Time{900ns}, {kOnGpu1, there, 0, 0}}}});
  CHECK(b.faults->nanoseconds() == Times{150});
  auto const& f = b.faults->records()[0].message;
  CHECK(f.kind == FaultKind::remote);
  CHECK(f.page == kOnGpu1);
  CHECK(f.gpu == 2);
  CHECK(b.out->nanoseconds() == Times{901, 902});
  for (auto const& r : b.out->records()) CHECK(r.message.frame == there);
  CHECK(b.iommu.state().stats.remote_faults == 1);
  CHECK(b.iommu.state().stats.page_faults == 0);
}

TEST_CASE(
    "IOMMU: with migration a GPU gets the frames of its own pages, and a TLB hit for another GPU is a "
    "fault") {
  auto const table = page_on_gpu1();
  MovingBench b(spec_of(table),
                {.requests = {{Time{100ns}, ask(kOnGpu1, 1, 7)}, {Time{200ns}, ask(kOnGpu1, 0, 8)}},
                 .mapped = {{Time{900ns}, {kOnGpu1, physical(0, 0), 0, 0}}}});
  CHECK(b.out->nanoseconds() == Times{150, 901});
  CHECK(b.faults->nanoseconds() == Times{202});
  CHECK(b.iommu.state().stats.tlb_hits == 1);
}

TEST_CASE("IOMMU: a page is sent for when one GPU has asked for it as often in a row as it takes") {
  auto const table = page_on_gpu1();
  auto spec = spec_of(table);
  spec.migrate_after = 3;
  MovingBench b(spec, {.requests = {{Time{100ns}, ask(kOnGpu1, 0, 1)},
                                    {Time{200ns}, ask(kOnGpu1, 0, 2)},
                                    {Time{300ns}, ask(kOnGpu1, 2, 3)},
                                    {Time{400ns}, ask(kOnGpu1, 0, 4)},
                                    {Time{500ns}, ask(kOnGpu1, 1, 5)},  // the page is there: no remote touch
                                    {Time{600ns}, ask(kOnGpu1, 0, 6)},
                                    {Time{700ns}, ask(kOnGpu1, 0, 7)}},
                       .mapped = {{Time{900ns}, {kOnGpu1, physical(0, 0), 0, 0}}}});
  CHECK(b.faults->nanoseconds() == Times{702});
  CHECK(b.out->nanoseconds() == Times{150, 202, 302, 402, 502, 602, 901});
}

TEST_CASE(
    "IOMMU: an unmapped page is invalidated at its GPU and at those that have its translation, then "
    "reported") {
  auto const table = page_on_gpu1();
  auto spec = spec_of(table);
  spec.migrate_after = 9;
  MovingBench b(spec, {.requests = {{Time{100ns}, ask(kOnGpu1, 2, 7)}},
                       .moves = {{Time{300ns}, unmap(1, kOnGpu1, kHere)}},
                       .invalidated = {{Time{400ns}, {1}}, {Time{500ns}, {1}}}});
  CHECK(b.receivers(PacketKind::invalidate_request) == Nodes{11, 12});
  CHECK(b.out->nanoseconds() == Times{150, 302, 303});
  auto const& p = b.out->records()[1].message;
  CHECK(p.address == kOnGpu1);
  CHECK(p.frame == kHere);
  CHECK(p.tag == 1);
  CHECK(b.unmapped->nanoseconds() == Times{501});
  CHECK(b.unmapped->records()[0].message.move == 1);
  CHECK(!b.iommu.state().table.find(kOnGpu1));
}

TEST_CASE("IOMMU: an invalidation leaves behind the answers given before it, however late they leave") {
  auto const table = page_on_gpu1();
  auto spec = spec_of(table);
  spec.migrate_after = 9;
  std::vector<Record<Packet>> requests;
  for (std::uint32_t i = 0; i < 20; ++i) requests.push_back({Time{100ns}, ask(kOnGpu1, 2, i)});
  // The walk ends at 149; the last of 20 answers leaves at 168.
  MovingBench b(spec, {.requests = requests, .moves = {{Time{150ns}, unmap(0, kOnGpu1, kHere)}}});
  CHECK(b.out->nanoseconds()[19] == 149 + 19 + 1);
  CHECK(b.receivers(PacketKind::invalidate_request) == Nodes{11, 12});
  CHECK(b.out->nanoseconds()[20] == 170);
  CHECK(b.out->nanoseconds()[21] == 171);
  CHECK(b.unmapped->count() == 0);
}

TEST_CASE("IOMMU: a page that nobody behind it can reach is unmapped at once") {
  PageTable table(kTable, 12);
  table.map(kPage, physical(7, 0));  // a GPU of another IOMMU
  MovingBench b(spec_of(table), {.moves = {{Time{300ns}, unmap(0, kPage, physical(7, 0))}}});
  CHECK(b.out->count() == 0);
  CHECK(b.unmapped->nanoseconds() == Times{301});
}

TEST_CASE("IOMMU: a request for a page that moves waits for its new frame, walks under way included") {
  auto const table = page_on_gpu1();
  auto const there = physical(2, 77 << 12);
  MovingBench b(spec_of(table),
                {.requests = {{Time{100ns}, ask(kOnGpu1, 1, 7)},   // walks until 149
                              {Time{130ns}, ask(kOnGpu1, 0, 8)},   // while it is unmapped
                              {Time{160ns}, ask(kOnGpu1, 2, 9)}},  // after the walk's end
                 .moves = {{Time{120ns}, unmap(0, kOnGpu1, kHere)}, {Time{900ns}, remap(0, kOnGpu1, there)}},
                 .invalidated = {{Time{400ns}, {0}}}});
  CHECK(b.receivers(PacketKind::invalidate_request) == Nodes{11});
  CHECK(b.receivers(PacketKind::translate_response) == Nodes{10, 11, 12});
  CHECK(found_by(*b.out) == Found{FoundBy::fault, FoundBy::fault, FoundBy::fault});
  CHECK(b.out->nanoseconds() == Times{122, 901, 902, 903});
  for (std::size_t i = 1; i < 4; ++i) CHECK(b.out->records()[i].message.frame == there);
  CHECK(b.faults->count() == 0);
  CHECK(b.iommu.state().table.find(kOnGpu1) == there);
  CHECK(b.iommu.waiting_for().empty());
}

TEST_CASE("IOMMU: GPUs told of a page's new place are invalidated when it moves again, others are not") {
  auto const table = page_on_gpu1();
  auto const there = physical(2, 77 << 12);
  auto spec = spec_of(table);
  spec.migrate_after = 9;
  MovingBench b(spec, {.requests = {{Time{100ns}, ask(kOnGpu1, 2, 7)}, {Time{500ns}, ask(kOnGpu1, 0, 8)}},
                       .moves = {{Time{200ns}, unmap(0, kOnGpu1, kHere)},
                                 {Time{400ns}, remap(0, kOnGpu1, there)},
                                 {Time{800ns}, unmap(1, kOnGpu1, there)}},
                       .invalidated = {{Time{300ns}, {0}}, {Time{301ns}, {0}}}});
  CHECK(b.receivers(PacketKind::invalidate_request) == Nodes{11, 12, 10, 12});
}

TEST_CASE("IOMMU: its own TLB forgets a page that is unmapped") {
  auto const table = page_on_gpu1();
  auto const there = physical(2, 77 << 12);
  auto spec = spec_of(table);
  spec.params.walk_cache = 0;
  spec.migrate_after = 9;
  MovingBench b(spec,
                {.requests = {{Time{100ns}, ask(kOnGpu1, 1, 1)},   // a walk
                              {Time{200ns}, ask(kOnGpu1, 1, 2)},   // a hit
                              {Time{500ns}, ask(kOnGpu1, 1, 3)},   // a walk
                              {Time{600ns}, ask(kOnGpu1, 1, 4)}},  // a hit
                 .moves = {{Time{300ns}, unmap(0, kOnGpu1, kHere)}, {Time{400ns}, remap(0, kOnGpu1, there)}},
                 .invalidated = {{Time{350ns}, {0}}}});
  std::vector<PhysAddr> frames;
  for (auto const& r : b.out->records())
    if (r.message.kind == PacketKind::translate_response) frames.push_back(r.message.frame);
  CHECK(frames == std::vector<PhysAddr>{kHere, kHere, there, there});
  CHECK(b.iommu.state().stats.tlb_hits == 2);
  CHECK(b.iommu.state().walker.walks() == 2);
}
