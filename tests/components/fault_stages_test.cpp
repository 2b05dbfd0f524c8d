// SPDX-License-Identifier: Apache-2.0
// The time of a fault is the sum of its stages, on both fault paths: a GMMU, an IOMMU and the driver, between
// a mock fabric and a mock TLB. Two GPUs; GPU 0 faults, GPU 1 has page kPage.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "farfault/paging/paging_driver.hpp"
#include "farfault/translation/gmmu.hpp"
#include "farfault/translation/iommu.hpp"
#include "memory_mock.hpp"

namespace fault_stages_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

constexpr std::uint64_t kPage = ((1 * 512ULL + 2) * 512 + 3) * 512 + 4;
constexpr std::uint64_t kUnmappedPage = kPage + 1;
constexpr PhysAddr kFrame = physical(1, 0);

// Latencies in nanoseconds: of a cycle; of a walk, four reads of an entry; between GMMU and IOMMU, from GMMU
// to driver and back, between IOMMU and driver; and the driver's work.
constexpr std::int64_t kCycle = 1, kWalk = 4 * (1 + 10 + 1), kToIommu = 300, kToDriver = 700,
                       kFromDriver = 600, kNotify = 500, kWork = 1000;
constexpr std::int64_t kAsked = 100;  // request to the GMMU
constexpr std::int64_t kToTlb = 1;

// The fabric between a GMMU and an IOMMU, and the L2 TLB, which issues accesses again after a replay of all
// pages. Its own hops take no time.
struct GpuState {
  std::vector<Record<TranslateResponse>> responses;
};
class Gpu final : public Component<Nothing, GpuState> {
 public:
  using Base = Component<Nothing, GpuState>;
  using Base::Base;
  In<TranslateRequest> up = in<&Gpu::on_request>("up");
  In<Packet> down = in<&Gpu::on_packet>("down");
  In<TranslateResponse> response = in<&Gpu::on_response>("response");
  Out<Packet> to_iommu = out<Packet>("to_iommu");
  Out<Packet> answer = out<Packet>("answer");
  Out<Invalidate> invalidate = out<Invalidate>("invalidate");
  Out<RawFault> faulted = out<RawFault>("faulted");
  std::string_view kind() const override { return "gpu"; }
  void on_request(TranslateRequest const& m, Cx& cx) const {
    auto p = Packet::of(m);
    p.route.source = 10;
    cx.send(to_iommu, p);
  }
  void on_packet(Packet const& p, Cx& cx) const {
    if (p.is<Invalidate>())
      cx.send(invalidate, p.as<Invalidate>());
    else
      cx.send(answer, p);
  }
  void on_response(TranslateResponse const& m, Cx& cx) const {
    cx.state().responses.push_back({cx.now(), m});
    if (m.found_by == FoundBy::nothing) cx.send(faulted, RawFault{.page = m.page});
  }
};

struct Path {
  bool by_gpu = true;
  std::string replay = "each_fault";
  std::string policy = "remote_access";
};

struct FaultBench : Bench {
  FaultBench(Path const& path, std::uint64_t page)
      : gmmu(system.add<Gmmu>("gmmu", gmmu_spec(path))),
        iommu(system.add<Iommu>("iommu", iommu_spec(path))),
        driver(system.add<PagingDriver>("driver", driver_spec(path))),
        gpu(system.add<Gpu>("gpu")) {
    constexpr auto ns = [](std::int64_t n) { return n * 1ns; };
    feed(gmmu.request, {{Time{ns(kAsked)}, {.page = page}}});
    for (auto* read_entry : {&gmmu.read_entry, &iommu.read_entry}) {
      auto const to = read_entry == &gmmu.read_entry ? gmmu.entry_read : iommu.entry_read;
      auto& cache = responder<MemRequest, MemResponse>(memory(always(10ns)), to);
      join_family(*read_entry, {cache.request});
    }
    join(gmmu.to_iommu, gpu.up, ns(kToIommu - 1));
    join(gpu.to_iommu, iommu.request);
    join(iommu.response, gpu.down, ns(kToIommu - 1));
    join(gpu.answer, gmmu.from_iommu);
    join(gpu.invalidate, gmmu.invalidate);
    join(gmmu.acknowledge, iommu.invalidated, ns(kToIommu));
    idle(gmmu.invalidated);
    sinks(gmmu.to_tlb, 1);
    join_family(gmmu.response, {gpu.response}, ns(kToTlb));
    join(iommu.fault, driver.fault, ns(kNotify));
    join(iommu.first_touch, driver.fault, ns(kNotify));
    join(iommu.step_done, driver.step_done, ns(kNotify));
    join_family(driver.mapped, {iommu.mapped}, ns(kNotify));
    join(driver.placed, iommu.mapped, ns(kNotify));
    join_family(driver.move, {iommu.move}, ns(kNotify));
    idle(driver.copied);
    sinks(driver.copy, 2);
    if (gmmu.spec().records_faults) join(gmmu.to_driver, driver.fault, ns(kToDriver));
    if (gmmu.spec().fault_batches) {
      join(gpu.faulted, gmmu.raw_fault);
      join_family(driver.to_gpus, {gmmu.from_driver}, ns(kFromDriver));
    } else {
      sink(gpu.faulted);
    }
    CHECK(run() == RunState::drained);
    CHECK(gmmu.waiting_for().empty());
    CHECK(driver.waiting_for().empty());
  }
  static PageTable const& tables(bool of_gpu) {
    static auto const all = [] {
      std::array<PageTable, 2> t{PageTable(physical(0, 1 << 24), 12),
                                 PageTable(physical(kFirstCpu, 1 << 24), 12)};
      t[0].map(kPage + 2, physical(0, 0));  // the nodes of a walk
      t[1].map(kPage + 2, physical(0, 0));
      t[1].map(kPage, kFrame);
      return t;
    }();
    return all[of_gpu ? 0 : 1];
  }
  static bool in_batches(Path const& path) { return path.replay != "each_fault"; }
  static GmmuSpec gmmu_spec(Path const& path) {
    GmmuSpec spec;
    spec.memory = AddressMap(1, 256);
    spec.preloaded = &tables(true);
    spec.records_faults = spec.ends_walks = path.by_gpu;
    spec.fault_batches = in_batches(path);
    return spec;
  }
  static IommuSpec iommu_spec(Path const& path) {
    IommuSpec spec;
    spec.memory = AddressMap(1, 256);
    spec.preloaded = &tables(false);
    spec.decision.choose(path.policy);
    spec.replays_first_touches = true;
    spec.recorded_by_gpus = path.by_gpu ? ~0U : 0;
    spec.gpus_end_walks = path.by_gpu;
    spec.pages_are_moved = true;
    spec.gpus = {{0, 10}};
    spec.moves = 16;
    return spec;
  }
  static PagingDriverSpec driver_spec(Path const& path) {
    PagingDriverSpec spec;
    spec.preloaded = &tables(false);
    spec.devices = NodeDevices(2);
    static std::vector<PlacedPage> const placed{{kPage + 2, 0, 0}, {kPage, 1, 0}};
    spec.placed = &placed;
    spec.frames_per_gpu = 100;
    spec.params.fault_latency = kWork * 1ns;
    spec.gpus_end_walks = path.by_gpu;
    spec.decide_by(PolicyChoice<PageDecision>(path.policy));
    spec.in_batches = in_batches(path);
    spec.batch.replay.choose(path.replay);
    spec.batch.prefetch.choose("none");
    spec.batch.eviction_unit = ByteSize{4096};
    spec.batch.time = kWork * 1ns;
    spec.batch.interrupt_time = spec.batch.block_time = spec.batch.page_time = spec.batch.first_touch_time =
        0ns;
    spec.iommu_of_gpu = {0, 0};
    return spec;
  }
  struct Seen {
    std::int64_t ns = 0;
    FoundBy found_by{};
    PhysAddr frame = 0;
    bool operator==(Seen const&) const = default;
  };
  Seen seen(std::size_t n) const {
    auto const& r = gpu.state().responses.at(n);
    return {picoseconds(r.at) % 1000 == 0 ? picoseconds(r.at) / 1000 : -1, r.message.found_by,
            r.message.frame};
  }

  Gmmu& gmmu;
  Iommu& iommu;
  PagingDriver& driver;
  Gpu& gpu;
};
using Seen = FaultBench::Seen;

// Stages of a fault that the GPU records at the end of its walk.
constexpr std::int64_t kRecorded = kAsked + kCycle + kWalk;
constexpr std::int64_t kReplay = kNotify + kCycle + kToIommu + kToTlb;  // answer, IOMMU, fabric, TLB

}  // namespace

TEST_CASE("stages of a fault at the GPU: walk, packet to the driver, its work, answer, replay") {
  for (auto const page : {kPage, kUnmappedPage}) {
    FaultBench b({}, page);
    REQUIRE(b.gpu.state().responses.size() == 2);
    bool const touches = page == kUnmappedPage;
    CHECK(b.seen(0) == Seen{kRecorded + kToTlb, FoundBy::nothing, kNoFrame});
    CHECK(b.seen(1) == Seen{kRecorded + kToDriver + kWork + kReplay,
                            touches ? FoundBy::replay : FoundBy::settled,
                            touches ? physical(0, 1 << 12) : kFrame});
    CHECK(b.iommu.state().by_requester[0].requests == 0);
    CHECK(b.gmmu.state().by_requester[0].page_faults == 1);
    CHECK(b.gmmu.state().table.find(page)->frame == b.seen(1).frame);
  }
}

TEST_CASE("stages of a fault at the IOMMU: the GPU's walk, the request, the IOMMU's walk, and the driver") {
  FaultBench b({.by_gpu = false}, kUnmappedPage);
  auto const at_iommu = kRecorded + kCycle + kToIommu + kCycle + kWalk;
  REQUIRE(b.gpu.state().responses.size() == 2);
  CHECK(b.seen(0) == Seen{at_iommu + kToIommu + kToTlb, FoundBy::nothing, kNoFrame});
  CHECK(b.seen(1) == Seen{at_iommu + kNotify + kWork + kReplay, FoundBy::replay, physical(0, 1 << 12)});
  CHECK(b.iommu.state().by_requester[0].page_faults == 1);
  // A page of another GPU causes no fault: the IOMMU answers.
  FaultBench remote({.by_gpu = false}, kPage);
  REQUIRE(remote.gpu.state().responses.size() == 1);
  CHECK(remote.seen(0) == Seen{at_iommu + kToIommu + kToTlb, FoundBy::iommu, kFrame});
}

TEST_CASE("stages of a fault in a batch: interrupt, read of the buffer, work, mapping, replay") {
  FaultBench b({.replay = "batch"}, kPage);
  auto const interrupts = kRecorded + kToTlb + 1;  // the TLB's fault-buffer entry
  auto const begins = interrupts + kToDriver;
  auto const works_until = begins + kWork;
  CHECK(begins + kFromDriver + kCycle + kToDriver > works_until);  // the read takes longer
  auto const read = begins + kFromDriver + kCycle + kToDriver;
  auto const maps = kNotify + kCycle + kToIommu + kToIommu + kNotify;
  REQUIRE(b.gpu.state().responses.size() == 2);
  CHECK(b.seen(0) == Seen{kRecorded + kToTlb, FoundBy::nothing, kNoFrame});
  CHECK(b.seen(1) == Seen{read + maps + kFromDriver + kToTlb, FoundBy::replay, kNoFrame});
  CHECK(b.gpu.state().responses[1].message.page == kEveryPage);
  CHECK(b.gmmu.state().table.find(kPage) == PageTranslation{kFrame});
  CHECK(b.iommu.state().by_requester[0].requests == 0);
}

TEST_CASE("stages of a fault in a batch with replays by page: the answer is the mapping") {
  FaultBench b({.replay = "page"}, kPage);
  auto const begins = kRecorded + kToTlb + 1 + kToDriver;
  auto const read = begins + kFromDriver + kCycle + kToDriver;
  REQUIRE(b.gpu.state().responses.size() == 2);
  CHECK(b.seen(1) == Seen{read + kReplay, FoundBy::settled, kFrame});
  CHECK(b.gmmu.state().table.find(kPage) == PageTranslation{kFrame});
}

}  // namespace fault_stages_test
