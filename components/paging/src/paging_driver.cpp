// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/paging_driver.hpp"

namespace farfault {

namespace {

// Sends the messages of the parts through the driver's ports.
class Links final : public DriverLinks {
 public:
  Links(PagingDriver const& driver, PagingDriver::Cx& cx) : driver_(driver), cx_(cx) {}

  void tell_iommus(PageMove const& m, Duration after) override {
    for (std::uint32_t i = 0; i < driver_.spec().iommus; ++i) cx_.send(driver_.move, i, m, after);
  }
  void order_copy(DeviceId engine, CopyOrder const& m, Duration after) override {
    cx_.send(driver_.copy, driver_.spec().devices.number_of(engine), m, after);
  }
  void answer(std::uint32_t iommu, PageMapped const& m, Duration after) override {
    if (m.kind == FaultKind::not_mapped && iommu == 0)
      cx_.send(driver_.placed, m, after);
    else
      cx_.send(driver_.mapped, iommu, m, after);
  }
  void to_gpu(std::uint32_t gpu, Packet const& m) override {
    cx_.send(driver_.to_gpus, driver_.spec().iommu_of_gpu[gpu], m);
  }
  void report(std::uint32_t gpu, PageLifetimes const& m) override { cx_.send(driver_.lifetimes, gpu, m); }
  void stall(std::uint32_t gpu, GpuStall const& m) override { cx_.send(driver_.stall, gpu, m); }
  void end_order(MemoryOrderDone const& m) override { cx_.send(driver_.order_done, m); }
  void wake_batch(Time at) override { cx_.wake_at(driver_.worked, Tick{}, at); }
  void wake_counters(Time at) override { cx_.wake_at(driver_.counters_due, Tick{}, at); }
  void end_copy(std::uint32_t number, Time at) override {
    cx_.wake_at(driver_.relocated_page_copied, CopyDone{number}, at);
  }

 private:
  PagingDriver const& driver_;
  PagingDriver::Cx& cx_;
};

// Calls f(turn) for the message that is handled.
template <class F>
void turn(PagingDriver const& driver, PagingDriver::Cx& cx, F&& f) {
  Links links(driver, cx);
  DriverTurn t{
      .spec = driver.spec(), .facts = driver.facts(), .s = cx.state(), .out = links, .now = cx.now()};
  f(t);
  if (t.spec.counts_accesses) t.s.counters.serve(t);
}

}  // namespace

PagingDriver::PagingDriver(Slot<PagingDriverSpec> slot) : Component(std::move(slot)) {
  if (spec().in_batches) {
    worked = timer<&PagingDriver::on_worked>("worked");
    to_gpus = out<Packet>("to_gpus");
    if (spec().reports_uses) used = in<&PagingDriver::on_used>("used");
    if (spec().reports_lifetimes) lifetimes = out<PageLifetimes>("lifetimes");
  }
  if (spec().relocates()) relocated_page_copied = timer<&PagingDriver::on_copied>("copied_within");
  if (spec().stalls_gpus) stall = out<GpuStall>("stall");
  if (spec().host_pages != nullptr) {
    memory_order = in<&PagingDriver::on_memory_order>("memory_order");
    order_done = out<MemoryOrderDone>("order_done");
  }
  if (!spec().counts_accesses) return;
  counters_due = timer<&PagingDriver::on_counters_due>("counters_due");
  if (!spec().in_batches) to_gpus = out<Packet>("to_gpus");
}

PagingDriverState PagingDriver::initial() const {
  PagingDriverState s;
  s.memory = DriverMemory(spec());
  s.transitions = TransitionExecutor(spec());
  s.faults = FaultClient(spec());
  s.programs = ProgramClient(spec());
  s.relocations = RelocationClient(spec());
  if (spec().in_batches) {
    s.batch = BatchClient(spec());
    s.evictions = EvictionClient(spec());
  }
  if (spec().counts_accesses) s.counters = CounterClient(spec());
  s.work = DriverWork(spec().params.faults_at_a_time);
  s.records = PagingRecords(spec());
  s.stats = ByApplication<PagingDriverStats>(static_cast<std::uint32_t>(spec().applications.size()));
  return s;
}

PagingDriver::ApplicationStats PagingDriver::application_stats() const {
  return counted_by_application<&PagingDriverState::stats>(spec().applications);
}

std::vector<PagingDriver::PolicyStats> PagingDriver::policy_stats() const {
  std::vector<PolicyStats> all{
      {{"memory.frame_allocation", spec().frames.stats()},
       [](PagingDriverState const& s) -> StatSource const& { return s.memory.frame_statistics(); }},
      {{"memory.page_sizes", spec().page_sizes.stats()},
       [](PagingDriverState const& s) -> StatSource const& { return s.memory.size_statistics(); }},
      {{"memory.compaction", spec().compaction.stats()},
       [](PagingDriverState const& s) -> StatSource const& { return s.relocations.statistics(); }}};
  if (spec().in_batches)
    all.push_back(
        {{"driver.batch.eviction_order", spec().batch.eviction_order.stats()},
         [](PagingDriverState const& s) -> StatSource const& { return s.evictions.order_statistics(); }});
  auto const decision = spec().decision.facts();
  if ((spec().decides_alone || decision.decides_at_driver_only()) &&
      decision.events.has(PageEventKind::fault))
    all.push_back(
        {{"memory.remote_touch", spec().decision.stats()},
         [](PagingDriverState const& s) -> StatSource const& { return s.memory.decision_statistics(); }});
  return all;
}

std::string PagingDriver::waiting_for() const {
  auto const& s = state();
  auto const moving = s.transitions.in_flight();
  auto const operations = s.programs.operations();
  auto const batch =
      (spec().in_batches ? s.batch.waiting_for(spec(), s) : std::string{}) + s.counters.waiting_for(spec());
  if (moving == 0 && s.faults.waiting() == 0 && operations == 0 && batch.empty()) return {};
  bool const lacks_frames = s.programs.allocates() && s.memory.all_full();
  return std::to_string(moving) + " pages in flight, " + std::to_string(s.faults.waiting()) +
         " faults waiting, operations of " + std::to_string(operations) + " streams" +
         (lacks_frames ? ", no free frame for their allocations" : "") + batch;
}

bool PagingDriver::settle(PagingDriverState& s, Time at) const {
  bool const works = s.work.settle(at, s.batch.time_until(at));
  return works || s.batch.is_serving();
}

void PagingDriver::final_rows(TableRows& rows) const {
  PagingRecords::add_placement(spec(), state().memory.table(), rows);
}

void PagingDriver::on_packet(Packet const& p, Cx& cx) const {
  turn(*this, cx, [&](DriverTurn& t) {
    if (p.is<PageFault>()) {
      t.s.faults.serve(p.as<PageFault>(), t);
      if (spec().moves_to_coalesce) t.s.relocations.start_moves(t);
    } else if (p.is<FaultInterrupt>()) {
      t.s.batch.interrupted(p.as<FaultInterrupt>(), t);
    } else if (p.is<FaultEntry>()) {
      t.s.batch.entry_arrived(p.as<FaultEntry>(), t);
    } else if (p.is<CounterNotification>()) {
      t.s.counters.notified(p.as<CounterNotification>(), t);
    } else {
      FF_CHECK(p.is<FaultsDrained>(), path() + ": unexpected packet kind at the driver");
      t.s.batch.drained(p.as<FaultsDrained>(), t);
    }
  });
}

void PagingDriver::on_step_done(StepDone const& m, Cx& cx) const {
  turn(*this, cx, [&](DriverTurn& t) { t.step_done(m); });
}

void PagingDriver::on_copied(CopyDone const& m, Cx& cx) const {
  turn(*this, cx, [&](DriverTurn& t) { t.copied(m); });
}

void PagingDriver::on_memory_order(MemoryOrder const& m, Cx& cx) const {
  turn(*this, cx, [&](DriverTurn& t) { t.s.programs.begin_order(m, t); });
}

void PagingDriver::on_worked(Tick const&, Cx& cx) const {
  turn(*this, cx, [&](DriverTurn& t) { t.s.batch.worked(t); });
}

void PagingDriver::on_counters_due(Tick const&, Cx& cx) const {
  turn(*this, cx, [&](DriverTurn& t) { t.s.counters.woken(t); });
}

void PagingDriver::on_used(PageUse const& m, Cx& cx) const {
  turn(*this, cx, [&](DriverTurn& t) { t.s.evictions.used(m, t); });
}

template class Component<PagingDriverSpec, PagingDriverState>;

}  // namespace farfault
