// SPDX-License-Identifier: Apache-2.0
// An IOMMU that answers immediately that a page is unmapped, and replays the access when the driver has
// mapped the page.
#include <doctest/doctest.h>

#include <map>

#include "iommu_bench.hpp"

namespace iommu_fault_test {

using namespace farfault;
using namespace farfault::iommu_bench;

namespace {

IommuSpec replaying(PageTable const& table) {
  auto spec = spec_of(table);
  spec.replays_first_touches = true;
  spec.gpus = {{0, 10}, {1, 11}, {2, 12}};
  return spec;
}
using Tags = std::vector<std::uint32_t>;
Tags tags(Sink<Packet> const& responses) {
  Tags all;
  for (auto const& r : responses.records()) all.push_back(answer_in(r.message)->tag.value_or(0));
  return all;
}

}  // namespace

TEST_CASE(
    "IOMMU: a request for an unmapped page is answered immediately, and replayed when the driver has mapped "
    "it") {
  auto const table = two_pages();
  IommuBench b(replaying(table), {{Time{100ns}, ask(55, 1, 7)},
                                  {Time{101ns}, ask(55, 2, 8)},  // merged with the walk
                                  {Time{500ns}, ask(55, 1, 9)},  // its own fault, merged
                                  {Time{5us}, ask(55, 0, 10)}});
  // Read at 102, back at 113. The driver is notified at 114, takes 1 us, and its response arrives at 1115. A
  // replay is sent a cycle later, and another one after that.
  CHECK(b.responses->nanoseconds() == Times{114, 115, 500 + 14, 1117, 1118, 5000 + 50});
  CHECK(found_by(*b.responses) == Found{FoundBy::nothing, FoundBy::nothing, FoundBy::nothing, FoundBy::replay,
                                        FoundBy::replay, FoundBy::iommu});
  auto const frame = physical(1, 200 << 12);
  CHECK(answer(*b.responses, 0).frame == kNoFrame);
  CHECK(answer(*b.responses, 3) == Answer{55, frame, 0, FoundBy::replay});
  CHECK(b.responses->records()[3].message.route.destination == 11);
  CHECK(b.responses->records()[4].message.route.destination == 12);
  CHECK(answer(*b.responses, 5).frame == frame);
  auto const& s = b.iommu.state().by_requester[0];
  CHECK(s.page_faults == 1);
  CHECK(s.merged_faults == 1);
  CHECK(s.refused_faults == 0);
  CHECK(b.iommu.state().stats.replays == 2);
  CHECK(b.driver.state().stats[0].page_faults == 1);
  CHECK(b.iommu.state().fault_latency.bins[LatencyHistogram::bin_of(1002)] == 1);  // 113 to 1115
  CHECK(b.iommu.waiting_for().empty());
}

TEST_CASE("IOMMU: a fault holds no entry that a walk needs, and other requests pass it") {
  auto const table = two_pages();
  auto spec = replaying(table);
  spec.params.pages = 1;
  IommuBench b(spec, {{Time{100ns}, ask(55, 1, 7)}, {Time{103ns}, ask(kPage, 2, 8)}});
  CHECK(tags(*b.responses) == Tags{7, 8, 0});
  CHECK(b.responses->nanoseconds()[1] == 113 + 1 + 48 + 1);
}

TEST_CASE(
    "IOMMU: a fault that finds the buffer full gets the same response, and a retry when an entry is free") {
  auto const table = two_pages();
  auto spec = replaying(table);
  spec.params.fault_buffer = 1;
  IommuBench b(spec, {{Time{100ns}, ask(55, 1, 7)},
                      {Time{200ns}, ask(56, 2, 8)},
                      {Time{300ns}, ask(57, 0, 9)},
                      {Time{2000ns}, ask(56, 2, 10)},
                      {Time{4000ns}, ask(57, 0, 11)}});
  // 55 is mapped at 1115. Without a free record, both others are answered to retry.
  REQUIRE(b.responses->count() == 10);
  std::map<std::uint64_t, std::vector<PhysAddr>> replays;
  for (std::size_t i = 0; i < b.responses->count(); ++i)
    if (auto const a = answer(*b.responses, i); a.found_by == FoundBy::replay)
      replays[a.page].push_back(a.frame);
  CHECK(replays[55] == std::vector<PhysAddr>{physical(1, 200 << 12)});
  CHECK(replays[56] == std::vector<PhysAddr>{kNoFrame, physical(2, 300 << 12)});
  CHECK(replays[57] == std::vector<PhysAddr>{kNoFrame, physical(0, 100 << 12)});
  auto const& s = b.iommu.state().by_requester[0];
  CHECK(s.page_faults == 3);
  CHECK(s.refused_faults == 2);
  CHECK(b.iommu.waiting_for().empty());
}

namespace {

struct GpuState {
  std::uint64_t started = 0;
  std::uint64_t done = 0;
  std::uint64_t wrong = 0;
  std::vector<std::uint64_t> kept;      // accesses to unmapped pages
  std::vector<std::uint32_t> finished;  // per access
};
// Forwards each packet to the node that it names.
class Fan final : public Component<Nothing, Nothing> {
 public:
  using Component::Component;
  In<Packet> in_port = in<&Fan::on_packet>("in");
  Out<Packet> out_port = out<Packet>("out");
  std::string_view kind() const override { return "fan"; }
  void on_packet(Packet const& m, Cx& cx) const { cx.send(out_port, m.route.destination, m); }
};

struct GpuSpec {
  std::uint16_t number = 0;
  std::uint64_t accesses = 0;
  std::uint64_t window = 0;
  std::uint64_t pages = 0;
};

// Accesses one page per number, several at a time, and again after a replay.
class FaultingGpu final : public Component<GpuSpec, GpuState> {
 public:
  using Component::Component;
  In<Packet> response = in<&FaultingGpu::on_response>("response");
  Self<Step> begin = timer<&FaultingGpu::on_begin>("begin");
  Out<Packet> request = out<Packet>("request");
  std::string_view kind() const override { return "gpu"; }
  GpuState initial() const override {
    GpuState s;
    s.finished.resize(spec().accesses);
    return s;
  }
  std::uint64_t page_of(std::uint64_t access) const {
    return (access * 0x9E3779B97F4A7C15ULL >> 40) % spec().pages + 0x8000;
  }
  void on_begin(Step const&, Cx& cx) const {
    for (std::uint64_t i = 0; i < spec().window; ++i) next(cx);
  }
  void on_response(Packet const& p, Cx& cx) const {
    auto& s = cx.state();
    if (p.is<Replay>()) {
      auto const page = p.as<Replay>().page;
      auto const waiting = std::move(s.kept);
      s.kept.clear();
      for (auto const access : waiting)
        if (page_of(access) == page)
          cx.send(request, of(access));
        else
          s.kept.push_back(access);
      return;
    }
    auto const m = p.as<IommuResponse>();
    if (page_of(m.tag) != m.page) ++s.wrong;
    if (m.found_by == FoundBy::nothing) return s.kept.push_back(m.tag);
    ++s.done;
    ++s.finished[m.tag];
    next(cx);
  }

 private:
  Packet of(std::uint64_t access) const {
    auto p = ask(page_of(access), spec().number, static_cast<std::uint32_t>(access));
    p.route.source = spec().number;
    return p;
  }
  void next(Cx& cx) const {
    auto& s = cx.state();
    if (s.started == spec().accesses) return;
    auto const access = s.started++;
    cx.send(request, of(access));
  }
};

}  // namespace

TEST_CASE("IOMMU: for any fault buffer and number of faults, each access is answered with its frame once") {
  auto const table = two_pages();
  for (std::uint32_t const buffer : {1U, 2U, 7U, 63U, 64U, 65U, 200U}) {
    for (bool const merge : {true, false}) {
      CAPTURE(buffer);
      Bench b;
      auto spec = replaying(table);
      spec.gpus = {{0, 0}, {1, 1}, {2, 2}};
      spec.params.fault_buffer = buffer;
      spec.params.merge = merge;
      spec.params.pages = 8;
      spec.params.walkers = 3;
      spec.waiters = 3 * 100;
      auto& iommu = b.system.add<Iommu>("iommu", spec);
      auto driver_spec = driver_of(table);
      driver_spec.queue = 1000;
      auto& driver = b.system.add<PagingDriver>("driver", driver_spec);
      std::vector<FaultingGpu*> gpus;
      auto& fan = b.system.add<Fan>("fan");
      for (std::uint16_t g = 0; g < 3; ++g) {
        gpus.push_back(&b.system.add<FaultingGpu>("gpu" + std::to_string(g), GpuSpec{g, 600, 90, 64}));
        b.join(gpus[g]->request, iommu.request);
        b.system.post(gpus[g]->begin, Step{0}, Time{(100 + g) * 1ns});
      }
      b.join(iommu.response, fan.in_port);
      b.join_family(fan.out_port, {gpus[0]->response, gpus[1]->response, gpus[2]->response});
      auto& cache = b.responder<MemRequest, MemResponse>(memory(scattered(200ns, 5)), iommu.entry_read);
      b.join_family(iommu.read_entry, {cache.request});
      b.join(iommu.fault, driver.fault);
      b.join(iommu.first_touch, driver.fault);
      b.join_family(driver.mapped, {iommu.mapped});
      b.join(driver.placed, iommu.mapped);
      stop_migrations(b, iommu, driver);
      CHECK(b.run() == RunState::drained);
      for (auto const* gpu : gpus) {
        auto const& s = gpu->state();
        CHECK(s.done == 600);
        CHECK(s.wrong == 0);
        CHECK(s.kept.empty());
        for (auto const n : s.finished) CHECK(n == 1);
      }
      auto const& s = iommu.state().by_requester[0];
      CHECK(s.page_faults == 64);
      if (buffer < 32) CHECK(s.refused_faults > 0);
      if (buffer >= 64) CHECK(s.refused_faults == 0);
      CHECK(driver.state().stats[0].pages_mapped == 64);
      CHECK(iommu.waiting_for().empty());
    }
  }
}

}  // namespace iommu_fault_test
