// SPDX-License-Identifier: Apache-2.0
// The parts of the driver with the devices of page_devices.hpp, for all orders of their messages. Nothing has
// a time: each message, copy and access ends at any moment, in order only on one link.
//
// - wrong_owners() finds two owners of a frame, a lost frame, and a translation to a frame that the page does
//   not own. is_at_rest() finds lost accesses.
// - seen(): kinds of changes since the start, one bit each.
// - Canonical: after each event, remains that no longer matter are removed, so that equal states have equal
//   bytes: statistics, rows, popped elements of queues, the plan of a finished batch.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "farfault/engine/archive.hpp"
#include "farfault/paging/paging_driver_state.hpp"
#include "page_devices.hpp"

namespace farfault::page_world {

// evict_home: of a page that has copies.
enum class Change : std::uint8_t { first_touch, move, copy, collapse, evict_home, coalesce, splinter, free };
inline constexpr std::uint64_t kChanges = 8;

class World final : public DriverLinks {
 public:
  World(PagingDriverSpec const& with, std::vector<Request> requests)
      : spec_(with),
        numbers_(with.spaces),
        requests_(std::move(requests)),
        devices_(with.in_batches, with.gpus_end_walks, with.large.any(), served_by(with)) {
    state_.memory = DriverMemory(spec_);
    state_.transitions = TransitionExecutor(spec_);
    state_.faults = FaultClient(spec_);
    state_.programs = ProgramClient(spec_);
    state_.relocations = RelocationClient(spec_);
    if (spec_.in_batches) {
      state_.batch = BatchClient(spec_);
      state_.evictions = EvictionClient(spec_);
    }
    if (spec_.counts_accesses) state_.counters = CounterClient(spec_);
    for (std::uint64_t p = 0; p < kPages; ++p) {
      auto const home = state_.memory.home(numbers_.of(p));
      if (!home) continue;
      auto const frame = home->base_page(numbers_.of(p), kPageBits).frame;
      devices_.contents(frame) = p + 1;
      for (auto& t : devices_.tables) t[p] = frame;
      if (auto const device = device_of(frame); spec_.gpus_end_walks && device < kGpus)
        devices_.page_tables[device][p] = frame;
    }
    make_canonical();
  }

  void archive(Archive& a) {
    a(state_.memory, state_.faults, state_.programs, state_.relocations, state_.batch, state_.evictions,
      state_.counters, devices_, state_.transitions);
  }

  // An event that may happen next. An acknowledgement that is not the last one of its step changes a counter
  // and nothing else, so its order with other events makes no difference: it happens first.
  struct Event {
    enum class Kind : std::uint8_t {
      issue,
      to_iommu,
      placed,
      order,
      step_done,
      fault,
      note,
      drain,
      copied,
      complete,
    };
    Kind kind;
    std::uint8_t index;
    std::uint8_t gpu = 0;
  };
  std::vector<Event> events() const {
    using K = Event::Kind;
    std::vector<Event> all;
    auto const add = [&](K kind, std::uint64_t index, std::uint64_t gpu = 0) {
      all.push_back({kind, static_cast<std::uint8_t>(index), static_cast<std::uint8_t>(gpu)});
    };
    auto const& d = devices_;
    for (std::uint64_t i = 0; i < kIommus; ++i) {
      if (d.steps_done[i].empty() || state_.transitions.pages()[d.steps_done[i].front()].awaited == 1)
        continue;
      add(K::step_done, i);
      return all;
    }
    for (std::uint64_t i = 0; i < requests_.size(); ++i) {
      auto const& r = requests_[i];
      bool const busy =
          r.is_access() ? d.gpus[r.gpu].phase != Devices::idle : r.is_of_program() && d.program_runs != 0;
      if ((d.issued >> i & 1U) == 0 && !busy) add(K::issue, i);
    }
    for (std::uint64_t i = 0; i < kIommus; ++i) {
      if (!d.to_iommus[i].empty()) add(K::to_iommu, i);
      if (!d.steps_done[i].empty()) add(K::step_done, i);
    }
    if (d.first_placed(0) != 0) add(K::placed, 0);
    for (std::uint64_t i = 0; i < d.draining.size(); ++i)
      for (std::uint64_t g = 0; g < kGpus; ++g) {
        if ((d.draining[i].gpus >> g & 1U) != 0 && !d.is_used(d.draining[i], g)) add(K::drain, i, g);
      }
    for (std::uint64_t i = 0; i < d.copying.size(); ++i) add(K::copied, i);
    for (std::uint64_t g = 0; g < kGpus; ++g) {
      if (!d.orders[g].empty()) add(K::order, g);
      if (!d.faults[g].empty()) add(K::fault, g);
      if (!d.notes[g].empty()) add(K::note, g);
      if (d.gpus[g].phase == Devices::using_frame) add(K::complete, g);
    }
    return all;
  }

  void happen(Event const& e) {
    auto& d = devices_;
    switch (e.kind) {
      case Event::Kind::issue:
        d.issued |= std::uint64_t{1} << e.index;
        issue(requests_[e.index]);
        break;
      case Event::Kind::to_iommu:
        d.at_iommu(e.index, 0);
        break;
      case Event::Kind::placed:
        d.at_iommu(0, d.first_placed(0));
        break;
      case Event::Kind::order:
        d.at_gmmu(e.index);
        break;
      case Event::Kind::step_done: {
        auto const move = static_cast<std::uint32_t>(Devices::take(d.steps_done[e.index], 0));
        turn([&](DriverTurn& t) { t.step_done({move}); });
        break;
      }
      case Event::Kind::fault:
        faulted(e.index, Devices::take(d.faults[e.index], 0));
        break;
      case Event::Kind::note:
        noted(e.index, Devices::take(d.notes[e.index], 0));
        break;
      case Event::Kind::drain:
        d.drain(e.index, e.gpu);
        break;
      case Event::Kind::copied: {
        auto const tag = static_cast<std::uint32_t>(d.copied(e.index).tag);
        turn([&](DriverTurn& t) { t.copied({tag}); });
        break;
      }
      case Event::Kind::complete:
        d.complete(e.index);
        break;
    }
    see_changes();
    make_canonical();
  }

  bool is_at_rest() const {
    // With batches, an access to a page that a program has freed never ends (program_client.hpp).
    auto const rests = [&](Devices::Gpu const& g) {
      auto const page = numbers_.of(g.page);
      bool const freed = spec_.in_batches && !state_.memory.home(page) && state_.memory.is_unallocated(page);
      return g.phase == Devices::idle || (g.phase == Devices::waiting && freed);
    };
    return std::ranges::all_of(devices_.gpus, rests) &&
           devices_.issued + 1 == std::uint64_t{1} << requests_.size() && devices_.program_runs == 0 &&
           state_.transitions.in_flight() == 0 && state_.faults.waiting() == 0 &&
           state_.counters.waiting_for(spec_).empty() &&
           (!spec_.in_batches || state_.batch.waiting_for(spec_, state_).empty());
  }
  Devices& devices() { return devices_; }
  std::uint64_t stale() const { return devices_.stale; }
  std::uint64_t lost() const { return devices_.lost; }
  std::uint64_t seen() const { return seen_; }
  std::array<std::uint64_t, kPageSteps> const& taken() const { return state_.transitions.taken(); }

  std::uint64_t wrong_owners() const {
    std::map<PhysAddr, std::uint64_t> owner;
    std::uint64_t wrong = 0;
    std::array<std::uint64_t, kGpus> used{};
    auto const own = [&](PhysAddr f, std::uint64_t page) {
      auto const [at, is_new] = owner.emplace(f, page);
      if (!is_new) wrong += at->second != page ? 1 : 0;
      if (is_new && device_of(f) < kFirstCpu) ++used[device_of(f)];
    };
    auto const& m = state_.memory;
    for (std::uint64_t i = 0; i < kPages; ++i) {
      auto const p = numbers_.of(i);
      auto const home = m.home(p);
      if (home) own(home->base_page(p, kPageBits).frame, p);
      for (DeviceId g = 0; g < kGpus; ++g)
        if (home && home->size == 0 && m.is_on(p, g)) own(m.frame_on(p, g), p);
    }
    for (auto const& p : state_.transitions.pages()) {
      if (p.in_use == 0) continue;
      for (std::uint64_t i = 0; i < std::uint64_t{1} << p.size; ++i) {
        auto const page = p.size == 0 ? p.page() : p.first_page() + i;
        if (p.from != kNoFrame && !is_released(p)) own(p.from + i * kPageBytes, page);
        if (p.to != kNoFrame) own(p.to + i * kPageBytes, page);
      }
    }
    // Frames of a relocation that has not begun belong to no page yet.
    for (std::uint64_t g = 0; g < kGpus; ++g)
      wrong += used[g] + m.frames(g).available() != spec_.frames_per_gpu && !state_.relocations.works_on(g)
                   ? 1
                   : 0;
    auto const check = [&](PhysAddr f, std::uint64_t page) {
      auto const at = owner.find(f & ~kReadOnly);
      wrong += at == owner.end() || at->second != page ? 1 : 0;
    };
    for (std::uint64_t g = 0; g < kGpus; ++g) {
      for (std::uint64_t p = 0; p < kPages; ++p)
        for (auto const frame : {devices_.tlb[g][p], devices_.page_tables[g][p]})
          if (frame != kNoFrame) check(frame, numbers_.of(p));
      if (devices_.gpus[g].phase == Devices::using_frame)
        check(devices_.gpus[g].frame, numbers_.of(devices_.gpus[g].page));
    }
    return wrong;
  }

  // DriverLinks.
  void tell_iommus(PageMove const& m, Duration) override {
    if (m.step == MoveStep::map && state_.transitions[m.move].transition == Transition::allocate)
      devices_.renew(numbers_.page(m.page), m.frame);
    for (auto& queue : devices_.to_iommus)
      queue.push_back({.what = Devices::Down::move,
                       .page = numbers_.page(m.page),
                       .frame = m.frame,
                       .move = m.move,
                       .step = static_cast<std::uint64_t>(m.step),
                       .gpu = spec_.gpus_end_walks ? m.gpu : std::uint64_t{0},
                       .kind = 0});
  }
  void order_copy(DeviceId, CopyOrder const& m, Duration) override { devices_.copy(m.tag, m.from, m.to); }
  void answer(std::uint32_t iommu, PageMapped const& m, Duration) override {
    auto const gpu = m.gpu != kNoGpu ? m.gpu : m.entry;
    auto const frame =
        m.frame == kNoFrame ? kNoFrame : PageTranslation{m.frame, m.size}.base_page(m.page, kPageBits).frame;
    bool const is_placed = iommu == 0 && m.kind == FaultKind::not_mapped;
    Devices::ToIommu const answer{.what = is_placed ? Devices::Down::placed : Devices::Down::answer,
                                  .page = numbers_.page(m.page),
                                  .frame = frame,
                                  .move = 0,
                                  .step = 0,
                                  .gpu = gpu,
                                  .kind = static_cast<std::uint64_t>(m.kind)};
    // While answers are on their way, batches may repeat them without end: two stand for any number.
    auto& queue = devices_.to_iommus[iommu];
    if (!spec_.in_batches || std::ranges::count(queue, answer) < 2) queue.push_back(answer);
  }
  void to_gpu(std::uint32_t gpu, Packet const& m) override {
    if (m.is<FaultOrder>())
      devices_.orders[gpu].push_back(static_cast<std::uint64_t>(m.as<FaultOrder>().kind));
  }
  void report(std::uint32_t, PageLifetimes const&) override {}
  void stall(std::uint32_t, GpuStall const&) override {}
  void end_order(MemoryOrderDone const&) override { devices_.program_runs = 0; }
  void wake_batch(Time) override {}
  void wake_counters(Time) override {}
  void end_copy(std::uint32_t number, Time) override {
    auto const& p = state_.transitions[number];
    devices_.copy(number, p.from, p.to == kNoFrame ? p.from : p.to);
  }

 private:
  // A policy that decides at counted accesses lets pages stay at requests, unless it decides them; the others
  // decide every request.
  static ServedRemotely served_by(PagingDriverSpec const& spec) {
    if (spec.decision.name() == kAnyDecision) return ServedRemotely::any;
    auto const decides = spec.decision.facts().events.has(PageEventKind::request) && !spec.makes_copies;
    if (!spec.counts_accesses || decides) return ServedRemotely::none;
    return spec.makes_copies ? ServedRemotely::reads : ServedRemotely::all;
  }
  template <class F>
  void turn(F&& f) {
    DriverTurn t{.spec = spec_, .facts = facts_, .s = state_, .out = *this, .now = Time{}};
    f(t);
    if (spec_.counts_accesses) state_.counters.serve(t);
    for (auto const& touch : state_.records.first_touches()) {
      see(Change::first_touch);
      for (std::uint64_t i = 0; i < std::uint64_t{1} << touch.size; ++i)
        devices_.renew(numbers_.page(touch.page + i), touch.frame + i * kPageBytes);
    }
  }
  void issue(Request const& op) {
    if (op.is_access()) return devices_.access(op);
    if (op.kind == Request::Kind::count) return counted(op);
    devices_.program_runs = 1;
    auto const kind = op.kind == Request::Kind::allocate ? OperationKind::allocate : OperationKind::free;
    auto const first = numbers_.of(op.page) << kPageBits;
    turn([&](DriverTurn& t) {
      t.s.programs.begin_order({.first = first, .bytes = std::uint64_t{1} << kPageBits, .kind = kind}, t);
    });
  }
  void counted(Request const& op) {
    auto const home = state_.memory.home(numbers_.of(op.page));
    if (!home) return;
    turn([&](DriverTurn& t) {
      t.s.counters.notified(
          {.region = home->frame, .sub_regions = 1, .count = 256, .gpu = op.gpu, .counter = op.gpu}, t);
    });
  }
  void faulted(std::uint64_t gpu, Devices::Fault const& m) {
    PageFault fault{};
    fault.page = numbers_.of(m.page);
    fault.gpu = static_cast<std::uint16_t>(gpu);
    fault.iommu = static_cast<std::uint16_t>(iommu_of(gpu));
    fault.entry = static_cast<std::uint32_t>(gpu);
    fault.kind = static_cast<FaultKind>(m.kind);
    fault.access = m.writes != 0 ? Access::write : Access::read;
    turn([&](DriverTurn& t) {
      t.s.faults.serve(fault, t);
      if (spec_.moves_to_coalesce) t.s.relocations.start_moves(t);
    });
  }
  void noted(std::uint64_t from, Devices::Note const& m) {
    auto const gpu = static_cast<std::uint16_t>(from);
    turn([&](DriverTurn& t) {
      auto& batch = t.s.batch;
      switch (m.what) {
        case Devices::NoteKind::interrupt:
          return batch.interrupted({gpu}, t);
        case Devices::NoteKind::entry:
          return batch.entry_arrived({.page = numbers_.of(m.page),
                                      .client = gpu,
                                      .access = m.writes != 0 ? Access::write : Access::read,
                                      .gpu = gpu},
                                     t);
        case Devices::NoteKind::drained:
          return batch.drained({static_cast<std::uint32_t>(m.entries), gpu}, t);
      }
    });
  }

  static bool is_released(PageInFlight const& p) {
    auto const& steps = row_of(p.transition).steps;
    auto const taken = steps.begin() + p.step;
    return std::find(steps.begin(), taken, PageStep::release) != taken;
  }
  void see(Change c) { seen_ |= std::uint64_t{1} << static_cast<unsigned>(c); }
  void see_changes() {
    for (auto const& p : state_.transitions.pages()) {
      if (p.in_use == 0) continue;
      if (p.transition == Transition::move) see(Change::move);
      if (adds_copy(p.transition)) see(Change::copy);
      if (p.transition == Transition::collapse) see(Change::collapse);
      if (p.transition == Transition::free) see(Change::free);
      if (p.transition == Transition::first_touch) see(Change::first_touch);
      if (p.transition == Transition::evict && state_.memory.is_shared(p.page())) see(Change::evict_home);
    }
    for (auto const& change : state_.memory.size_changes())
      see(change.coalesced != 0 ? Change::coalesce : Change::splinter);
  }

  template <class T>
  static void make_canonical(Ring<T>& ring) {
    auto [items, first, size, capacity] = ring.members();
    std::vector<T> in_order(items.size());
    for (std::uint64_t i = 0; i < size; ++i) in_order[i] = ring[i];
    items = std::move(in_order);
    first = 0;
  }
  void make_canonical(BatchWorker& worker) const {
    auto [phase, gpu, expected, faults, work_begins, timer, pages, record] = worker.members();
    record = {};
    if (phase != BatchPhase::reading) expected = 0;
    // A large page is answered at each of its base pages with an entry.
    bool const answers = spec_.large.any() && phase == BatchPhase::serving;
    if (phase != BatchPhase::reading && !answers) faults.clear();
    if (phase != BatchPhase::serving) pages.clear();
    if (phase == BatchPhase::idle) gpu = 0;
  }
  void make_canonical() {
    auto& s = state_;
    s.records = PagingRecords();
    s.memory.size_changes().clear();
    // Its only state is its statistics.
    if (spec_.decision.name() == "duplicate") s.memory.decision() = spec_.decision.make({});
    s.stats = ByApplication<PagingDriverStats>(1);
    s.counts = {};
    auto [services, turn, serving, counts_of_counters] = s.counters.members();
    counts_of_counters = {};
    turn = serving == 0 ? 0 : turn;
    for (auto& service : services) make_canonical(service.buffer);
    s.work = DriverWork(1);
    make_canonical(std::get<0>(s.faults.members()));
    for (auto& r : std::get<1>(s.relocations.members()))
      if (r.left == 0) r = {};
    if (!spec_.in_batches) return;
    auto [interrupts, prefetch, workers, batches_of_gpu, thrashing, done] = s.batch.members();
    make_canonical(interrupts);
    for (auto& of_gpu : batches_of_gpu) {
      if (workers[of_gpu.worker].is_idle()) of_gpu.worker = 0;
      std::ranges::sort(std::get<1>(of_gpu.stays.members()));
    }
    for (auto& worker : workers) make_canonical(worker);
    auto [size, orders, schedule, residency, evictions_of_gpu, units, free_units, counts] =
        s.evictions.members();
    counts = {};
    for (auto& of_gpu : evictions_of_gpu) {
      make_canonical(of_gpu.unmapped);
      of_gpu.lifetimes = {};
    }
    for (auto& of_gpu : residency)
      for (std::uint64_t p = 0; p < kPages; ++p) {
        auto& evictions = of_gpu.of(numbers_.of(p)).evictions;
        evictions = std::min(evictions, std::uint32_t{1});
      }
  }

  PagingDriverSpec const& spec_;
  PageNumbers const numbers_;
  DriverFacts const facts_{spec_};
  std::vector<Request> requests_;
  PagingDriverState state_;
  Devices devices_;
  std::uint64_t seen_ = 0;
};

}  // namespace farfault::page_world
