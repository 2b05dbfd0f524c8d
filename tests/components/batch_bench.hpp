// SPDX-License-Identifier: Apache-2.0
// Test bench for the driver's fault batches: the driver of one GPU whose pages are on the CPU, and a GPU of
// mocks around a real GMMU. An access faults until its page is resident.
//
// Pages 7 to 14 (first 2 MiB) are in frames 0 to 7 of the CPU; pages 519 and 520 (second 2 MiB) in frames 8
// and 9.
#pragma once

#include <string>
#include <vector>

#include "farfault/paging/paging_driver.hpp"
#include "farfault/translation/gmmu.hpp"
#include "mock.hpp"
#include "placed_pages.hpp"

namespace farfault::batch_bench {

using namespace mock;

using Times = std::vector<std::int64_t>;
using Pages = std::vector<std::uint64_t>;

inline Pages const kPages{7, 8, 9, 10, 11, 12, 13, 14, 519, 520};

// Driver times in nanoseconds: before the first block of a batch; per block; on the first touch of a block;
// per page.
inline constexpr std::int64_t kTime = 10'000, kBlock = 5'000, kFirstTouch = 20'000, kPageWork = 100,
                              kPrefetchedWork = 30;

inline PagingDriverSpec spec_of(std::string const& replay, std::string const& schedule,
                                std::uint64_t frames) {
  static auto const table = [] {
    PageTable t(0, 12);
    for (std::uint64_t p = 0; p < kPages.size(); ++p) t.map(kPages[p], physical(kFirstCpu, p << 12));
    return t;
  }();
  PagingDriverSpec spec;
  spec.in_batches = true;
  spec.batch.replay.choose(replay);
  spec.batch.prefetch.choose("none");
  spec.batch.eviction_schedule.choose(schedule);
  spec.batch.eviction_unit = ByteSize{4096};
  spec.batch.time = kTime * 1ns;
  spec.batch.block_time = kBlock * 1ns;
  spec.batch.page_time = spec.batch.prefetched_page_time = kPageWork * 1ns;
  spec.batch.first_touch_time = kFirstTouch * 1ns;
  spec.frames_per_gpu = frames;
  spec.placed = in_use({0}, kPages.size());
  spec.preloaded = &table;
  spec.iommus = 1;
  spec.iommu_of_gpu = {0};
  spec.devices = NodeDevices(1);
  spec.decide_by(PolicyChoice<PageDecision>("migrate"));
  return spec;
}

// Times of the mocks in nanoseconds: unmap a page, map a page, copy a page to the GPU and from it, and from a
// replay to the next fault of an access.
struct GpuTimes {
  std::int64_t unmap = 300, map = 200, in = 1'000, out = 800, again = 700;
};

// Links take 1 ns; links between GMMU and driver take 500 ns.
inline constexpr std::int64_t kNotify = 500;

struct PageAccess {
  std::int64_t at = 0;  // ns
  std::uint64_t page = 0;
  std::uint64_t sm = 0;
};

// A GPU, its IOMMU and its copy engine: executes the driver's orders.
struct GpuSpec {
  GpuTimes times;
  std::vector<PageAccess> accesses;
};
enum class Seen : std::uint64_t { fault, done, unmap, reads_in, writes_out };
struct GpuState {
  struct Event {
    Time at{};
    Seen what = Seen::fault;
    std::uint64_t page = 0;
  };
  enum class Phase : std::uint64_t { ahead, waits, tries, done };
  std::vector<Event> events;
  std::vector<Phase> phases;            // per access
  std::vector<std::uint64_t> resident;  // pages
  std::vector<std::uint64_t> page_of_move;
  Time in_free{};
  Time out_free{};
};

class Gpu final : public Component<GpuSpec, GpuState> {
 public:
  using Base = Component<GpuSpec, GpuState>;
  using Base::Base;
  In<PageMove> move = in<&Gpu::on_move>("move");
  In<CopyOrder> copy = in<&Gpu::on_copy>("copy");
  In<PageMapped> mapped = in<&Gpu::on_mapped>("mapped");
  In<TranslateResponse> response = in<&Gpu::on_response>("response");
  Self<Step> access = timer<&Gpu::on_access>("access");
  Out<StepDone> step_done = out<StepDone>("step_done");
  Out<CopyDone> copied = out<CopyDone>("copied");
  Out<RawFault> faulted = out<RawFault>("faulted");
  std::string_view kind() const override { return "gpu"; }

  GpuState initial() const override {
    GpuState s;
    s.phases.resize(spec().accesses.size());
    s.page_of_move.resize(64);
    return s;
  }
  void on_access(Step const& a, Cx& cx) const {
    auto const page = spec().accesses[a.index].page;
    if (is_here(page, cx.state())) return done(a.index, cx);
    cx.state().phases[a.index] = GpuState::Phase::waits;
    see(Seen::fault, page, cx);
    RawFault fault{};
    fault.page = page;
    fault.client = static_cast<std::uint16_t>(spec().accesses[a.index].sm);
    cx.send(faulted, fault);
  }
  void on_move(PageMove const& m, Cx& cx) const {
    auto& here = cx.state().resident;
    std::erase(here, m.page);
    cx.state().page_of_move[m.move] = m.page;
    if (m.step == MoveStep::unmap) {
      see(Seen::unmap, m.page, cx);
      return cx.send(step_done, StepDone{m.move}, spec().times.unmap * 1ns);
    }
    if (device_of(m.frame) == 0) here.push_back(m.page);
    if (m.step == MoveStep::map || m.step == MoveStep::map_copy)
      cx.send(step_done, StepDone{m.move}, spec().times.map * 1ns);
  }
  // Each direction copies one page at a time.
  void on_copy(CopyOrder const& m, Cx& cx) const {
    auto& s = cx.state();
    bool const in = device_of(m.to) == 0;
    auto& free = in ? s.in_free : s.out_free;
    see(in ? Seen::reads_in : Seen::writes_out, s.page_of_move[m.tag], cx);
    free = std::max(free, cx.now()) + (in ? spec().times.in : spec().times.out) * 1ns;
    cx.send(copied, CopyDone{m.tag}, free - cx.now());
  }
  void on_mapped(PageMapped const& m, Cx& cx) const {
    for (std::size_t a = 0; a < spec().accesses.size(); ++a)
      if (spec().accesses[a].page == m.page && cx.state().phases[a] == GpuState::Phase::waits) done(a, cx);
  }
  void on_response(TranslateResponse const& m, Cx& cx) const {
    auto& s = cx.state();
    for (std::size_t a = 0; a < spec().accesses.size(); ++a) {
      auto const page = spec().accesses[a].page;
      if (s.phases[a] != GpuState::Phase::waits || (m.page != kEveryPage && m.page != page)) continue;
      if (is_here(page, s)) {
        done(a, cx);
      } else {
        s.phases[a] = GpuState::Phase::tries;
        cx.wake_at(access, Step{a}, cx.now() + spec().times.again * 1ns);
      }
    }
  }

 private:
  static bool is_here(std::uint64_t page, GpuState const& s) {
    return std::ranges::find(s.resident, page) != s.resident.end();
  }
  static void see(Seen what, std::uint64_t page, Cx& cx) {
    cx.state().events.push_back({cx.now(), what, page});
  }
  static void done(std::size_t a, Cx& cx) {
    cx.state().phases[a] = GpuState::Phase::done;
    cx.state().events.push_back({cx.now(), Seen::done, a});
  }
};

struct GpuBench : Bench {
  // Two SMs share a uTLB.
  GpuBench(PagingDriverSpec const& spec, std::vector<PageAccess> accesses, std::uint32_t buffer = 8,
           GpuTimes times = {}, std::uint32_t faults_per_utlb = 0)
      : driver(system.add<PagingDriver>("driver", spec)),
        gmmu(system.add<Gmmu>("gmmu", gmmu_spec(buffer, faults_per_utlb))),
        gpu(system.add<Gpu>("gpu", GpuSpec{times, accesses})) {
    idle(gmmu.request, gmmu.entry_read, gmmu.from_iommu, gmmu.invalidate, gmmu.invalidated);
    sinks(gmmu.read_entry, 1);
    sink(gmmu.to_iommu);
    sinks(gmmu.to_tlb, 1);
    sink(gmmu.acknowledge);
    join_family(gmmu.response, {gpu.response});
    join(gmmu.to_driver, driver.fault, kNotify * 1ns);
    join(gpu.faulted, gmmu.raw_fault);
    join(gpu.step_done, driver.step_done);
    join(gpu.copied, driver.copied);
    join(driver.placed, gpu.mapped);
    join_family(driver.mapped, {gpu.mapped});
    join_family(driver.move, {gpu.move});
    join_family(driver.copy, {gpu.copy});
    join_family(driver.to_gpus, {gmmu.from_driver}, kNotify * 1ns);
    for (std::size_t a = 0; a < accesses.size(); ++a)
      system.post(gpu.access, Step{a}, Time{accesses[a].at * 1ns});
    CHECK(run() == RunState::drained);
    // In every scenario nothing remains outstanding, and each access completes once.
    CHECK(driver.waiting_for().empty());
    CHECK(gmmu.waiting_for().empty());
    CHECK(gmmu.state().raw.dropped_pages() == 0);
    std::vector<int> times_done(accesses.size());
    for (auto const& e : gpu.state().events)
      if (e.what == Seen::done) ++times_done[e.page];
    CHECK(times_done == std::vector<int>(accesses.size(), 1));
  }
  // Pages in order of time.
  Pages pages(Seen what) const {
    Pages all;
    for (auto const& e : gpu.state().events)
      if (e.what == what) all.push_back(e.page);
    return all;
  }
  Times times(Seen what) const {
    Times all;
    for (auto const& e : gpu.state().events)
      if (e.what == what) all.push_back(whole_ns(e.at));
    return all;
  }
  // Completion time per access.
  Times done() const {
    Times all(gpu.spec().accesses.size());
    for (auto const& e : gpu.state().events)
      if (e.what == Seen::done) all[e.page] = whole_ns(e.at);
    return all;
  }
  std::vector<BatchRecord> const& batches() const { return driver.state().records.batches(); }
  std::int64_t began(std::size_t batch) const { return whole_ns(batches()[batch].began); }
  std::int64_t ended(std::size_t batch) const { return whole_ns(batches()[batch].ended); }
  static std::int64_t whole_ns(Time t) { return picoseconds(t) % 1000 == 0 ? picoseconds(t) / 1000 : -1; }
  static GmmuSpec gmmu_spec(std::uint32_t buffer, std::uint32_t faults_per_utlb) {
    GmmuSpec spec;
    spec.router.policy.choose("centralized");
    spec.memory = AddressMap(1, 256);
    spec.records_faults = true;
    spec.fault_batches = true;
    spec.params.fault_buffer = buffer;
    spec.params.faults_per_utlb = faults_per_utlb;
    spec.params.sms_per_utlb = 2;
    spec.sms = 8;
    return spec;
  }

  PagingDriver& driver;
  Gmmu& gmmu;
  Gpu& gpu;
};

// Counts of a batch, as in its row of the table.
struct Counts {
  std::uint64_t raw = 0, duplicates = 0, faulted = 0, prefetched = 0, evicted = 0;
  bool operator==(Counts const&) const = default;
};
inline std::vector<Counts> counts(GpuBench const& b) {
  std::vector<Counts> all;
  for (auto const& r : b.batches())
    all.push_back({.raw = r.raw_faults,
                   .duplicates = r.duplicates,
                   .faulted = r.faulted_pages,
                   .prefetched = r.prefetched_pages,
                   .evicted = r.evicted_pages});
  return all;
}

// Begin of the batch after a fault that raises an interrupt: the fault is written, and the driver is
// notified.
constexpr std::int64_t begin_after(std::int64_t fault) {
  return fault + 1 + kNotify;
}
// Time at which the driver has read all entries of the buffer, one per cycle.
constexpr std::int64_t read_after(std::int64_t began, std::int64_t entries) {
  return began + kNotify + entries + kNotify;
}

}  // namespace farfault::batch_bench
