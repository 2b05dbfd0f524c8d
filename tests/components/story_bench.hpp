// SPDX-License-Identifier: Apache-2.0
// Scripted faults for the paging driver: time, GPU, pages. The driver is connected to an IOMMU with 5 us per
// step, copy engines with 40 us per page, and fault buffers.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "farfault/paging/paging_driver.hpp"
#include "mock.hpp"
#include "placed_pages.hpp"

namespace farfault::story_bench {

using namespace mock;

struct Fault {
  std::uint64_t page = 0;
  Access access = Access::read;
  std::uint8_t application = 0;
};
// These accesses of a GPU fault at the same time.
struct Faults {
  Time at;
  std::uint16_t gpu = 0;
  std::vector<Fault> faults;
};

struct DevicesSpec {
  std::vector<Faults> story;
};
struct DevicesState {
  std::vector<std::vector<Fault>> buffers = std::vector<std::vector<Fault>>(4);
  std::vector<std::uint8_t> interrupted = std::vector<std::uint8_t>(4);
  std::vector<PageMove> moves;
  std::vector<CopyOrder> copies;
  std::vector<std::int64_t> notified;  // in order: -1 - g, a replay of GPU g; a page that is unmapped
};

class Devices final : public Component<DevicesSpec, DevicesState> {
 public:
  using Component::Component;
  Self<Step> next = timer<&Devices::on_next>("next");
  In<Packet> order = in<&Devices::on_order>("order");
  In<PageMove> move = in<&Devices::on_move>("move");
  In<CopyOrder> copy = in<&Devices::on_copy>("copy");
  Out<Packet> fault = out<Packet>("fault");
  Out<StepDone> step_done = out<StepDone>("step_done");
  Out<CopyDone> copied = out<CopyDone>("copied");
  std::string_view kind() const override { return "devices"; }

  void on_next(Step const& step, Cx& cx) const {
    auto const& f = spec().story[step.index];
    auto& s = cx.state();
    auto& buffer = s.buffers[f.gpu];
    buffer.insert(buffer.end(), f.faults.begin(), f.faults.end());
    if (s.interrupted[f.gpu] == 0) cx.send(fault, Packet::of(FaultInterrupt{f.gpu}));
    s.interrupted[f.gpu] = 1;
  }
  void on_order(Packet const& p, Cx& cx) const {
    auto const m = p.as<FaultOrder>();
    if (m.kind != FaultOrderKind::drain) return cx.state().notified.push_back(-1 - m.gpu);
    auto& buffer = cx.state().buffers[m.gpu];
    std::uint16_t client = 0;
    for (auto const& f : buffer)
      cx.send(fault, Packet::of(FaultEntry{.page = f.page,
                                           .client = client++,
                                           .application = f.application,
                                           .access = f.access,
                                           .gpu = m.gpu}));
    cx.send(fault, Packet::of(FaultsDrained{static_cast<std::uint32_t>(buffer.size()), m.gpu}));
    if (buffer.empty()) cx.state().interrupted[m.gpu] = 0;
    buffer.clear();
  }
  void on_move(PageMove const& m, Cx& cx) const {
    cx.state().moves.push_back(m);
    if (m.step == MoveStep::unmap) cx.state().notified.push_back(static_cast<std::int64_t>(m.page));
    if (m.step != MoveStep::remap) cx.send(step_done, StepDone{m.move}, 5us);
  }
  void on_copy(CopyOrder const& m, Cx& cx) const {
    cx.state().copies.push_back(m);
    cx.send(copied, CopyDone{m.tag}, 40us);
  }
};

inline constexpr std::uint64_t kPages = 6;

inline PageTable const& pages_of_cpu() {
  static auto const table = [] {
    PageTable t(0, 12);
    for (std::uint64_t p = 0; p < kPages; ++p) t.map(7 + p, physical(kFirstCpu, p << 12));
    return t;
  }();
  return table;
}

// Pages 7 to 12 are in frames 0 to 5 of the CPU.
inline PagingDriverSpec machine(std::uint32_t gpus, std::uint64_t frames) {
  PagingDriverSpec spec;
  spec.in_batches = true;
  spec.batch.replay.choose("page");
  spec.batch.prefetch.choose("none");
  spec.batch.eviction_unit = ByteSize{4096};
  spec.batch.block_time = spec.batch.first_touch_time = Duration::zero();
  spec.batch.page_time = spec.batch.prefetched_page_time = Duration::zero();
  spec.frames_per_gpu = frames;
  spec.placed = in_use(std::vector<std::uint64_t>(gpus), kPages);
  spec.preloaded = &pages_of_cpu();
  spec.iommu_of_gpu.assign(gpus, 0);
  spec.devices = NodeDevices(gpus);
  spec.decide_by(PolicyChoice<PageDecision>("migrate"));
  return spec;
}

struct Story : Bench {
  Story(PagingDriverSpec const& spec, std::vector<Faults> const& story,
        std::vector<Record<PageUse>> uses = {}, std::vector<Record<MemoryOrder>> orders = {})
      : driver(system.add<PagingDriver>("driver", spec)), devices(system.add<Devices>("devices", {story})) {
    join(devices.fault, driver.fault);
    join(devices.step_done, driver.step_done);
    join(devices.copied, driver.copied);
    join_family(driver.to_gpus, {devices.order});
    join_family(driver.move, {devices.move});
    join_family(driver.copy, std::vector(spec.devices.gpus(), devices.copy));
    responses = sinks(driver.mapped, 1)[0];
    join(driver.placed, responses->in_port);
    if (spec.reports_uses) feed(driver.used, std::move(uses));
    if (spec.reports_lifetimes) notified = sinks(driver.lifetimes, spec.devices.gpus());
    if (spec.host_pages != nullptr) {
      feed(driver.memory_order, std::move(orders));
      sink(driver.order_done);
    }
    for (std::uint64_t i = 0; i < story.size(); ++i) system.post(devices.next, Step{i}, story[i].at);
    run();
    CHECK(driver.waiting_for().empty());
  }
  PagingDriverState const& state() const { return driver.state(); }
  std::vector<BatchRecord> const& rows() const { return state().records.batches(); }
  BatchRecord const& row(std::size_t i) const { return rows().at(i); }
  PageResidency const& stay(std::uint32_t gpu, std::uint64_t page) const {
    return *state().evictions.residency(gpu, page);
  }
  DeviceId home(std::uint64_t page) const { return device_of(state().memory.table().find(page)->frame); }
  bool has_copy(std::uint64_t page, DeviceId gpu) const {
    return state().memory.copies().find(page, gpu).has_value();
  }
  // Order lru: accessed units per epoch, summed over epochs and GPUs.
  std::uint64_t accessed_units() const {
    std::array<std::uint64_t, 2> counts{};
    state().evictions.order_statistics().sample(counts.data());
    return counts[1];
  }

  PagingDriver& driver;
  Devices& devices;
  Sink<PageMapped>* responses = nullptr;
  std::vector<Sink<PageLifetimes>*> notified;
};

inline constexpr auto kWrite = Access::write;

inline PagingDriverSpec with_copies(PagingDriverSpec spec) {
  spec.decide_by(PolicyChoice<PageDecision>("duplicate"));
  return spec;
}
inline PagingDriverSpec with_lru(PagingDriverSpec spec) {
  spec.batch.eviction_order.choose("lru");
  spec.reports_uses = true;
  return spec;
}

}  // namespace farfault::story_bench
