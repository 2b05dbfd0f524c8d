// SPDX-License-Identifier: Apache-2.0
// A small world around the parts of the driver, for all orders of its messages: three GPUs with one access at
// a time, two IOMMUs (GPU 0; GPUs 1 and 2), two base pages that form one large page, copy engines. Nothing
// has a time: each message, copy and access ends at any moment, in order only between one IOMMU and the
// driver.
//
// Contents are version numbers of a page. wrong_owners() finds two owners of a frame, a lost frame, and a
// translation to a frame that the page does not own. stale() counts accesses to other contents than the
// latest. is_at_rest() finds lost accesses.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "farfault/engine/archive.hpp"
#include "farfault/paging/paging_driver_state.hpp"

namespace farfault::page_world {

inline constexpr unsigned kPageBits = 29;  // the last level of a page table has two entries
inline constexpr std::uint64_t kFirst = 2;
inline constexpr std::uint64_t kPages = 2;
inline constexpr std::uint64_t kGpus = 3;
inline constexpr std::uint64_t kIommus = 2;
inline constexpr std::uint64_t kMoving = kNoFrame - 1;  // of a page in an IOMMU's table
constexpr std::uint64_t iommu_of(std::uint64_t gpu) {
  return gpu == 0 ? 0 : 1;
}

// An access of a GPU, or an operation of a program.
struct Request {
  enum class Kind : std::uint8_t { read, write, allocate, free };
  Kind kind = Kind::read;
  std::uint8_t gpu = 0;
  std::uint8_t page = 0;  // 0 or 1

  bool is_access() const { return kind == Kind::read || kind == Kind::write; }
};

// All that changes outside the driver. Every number has 64 bits, so that there is no padding.
struct Devices {
  enum Phase : std::uint64_t { idle, waiting, using_frame };
  struct Gpu {
    std::uint64_t phase = idle, page = 0, writes = 0, frame = kNoFrame;
  };
  struct ToIommu {
    std::uint64_t is_answer = 0, page = 0, frame = 0, move = 0, step = 0, gpu = 0, kind = 0;
  };
  struct ToDriver {
    std::uint64_t is_fault = 0, move = 0, page = 0, gpu = 0, kind = 0, writes = 0;
  };
  struct Copying {
    std::uint64_t tag = 0, from = 0, to = 0, contents = 0;
  };
  struct Drain {
    std::uint64_t iommu = 0, move = 0, page = 0, gpus = 0;  // GPUs that have not acknowledged
  };
  std::array<Gpu, kGpus> gpus{};
  std::array<std::array<std::uint64_t, kPages>, kGpus> tlb{};
  std::array<std::array<std::uint64_t, kPages>, kIommus> tables{};
  std::array<std::vector<ToIommu>, kIommus> to_iommus;
  std::array<std::vector<ToDriver>, kIommus> to_driver;
  std::vector<Copying> copying;
  std::vector<Drain> draining;
  std::array<std::uint64_t, kPages> latest{};  // version of each page
  std::array<std::uint64_t, 16> contents{};    // of each frame
  std::uint64_t issued = 0;                    // operations
  std::uint64_t program_runs = 0;
};

class World final : public DriverLinks {
 public:
  World(PagingDriverSpec const& with, std::vector<Request> ops) : spec_(with), ops_(std::move(ops)) {
    state_.memory = DriverMemory(spec_);
    state_.transitions = TransitionExecutor(spec_);
    state_.faults = FaultClient(spec_);
    state_.programs = ProgramClient(spec_);
    state_.relocations = RelocationClient(spec_);
    state_.work = DriverWork(1);
    for (auto& t : devices_.tlb) t.fill(kNoFrame);
    for (auto& t : devices_.tables)
      for (std::uint64_t p = 0; p < kPages; ++p) {
        auto const home = state_.memory.home(kFirst + p);
        t[p] = home ? home->frame : kNoFrame;
      }
    forget_rows();
  }

  void save(std::vector<std::byte>& bytes) {
    bytes.clear();
    Saver save(bytes);
    save(state_.memory, state_.faults, state_.programs, state_.relocations, devices_, state_.transitions);
  }
  void load(std::vector<std::byte> const& bytes) {
    Loader load(bytes);
    load(state_.memory, state_.faults, state_.programs, state_.relocations, devices_, state_.transitions);
  }

  // An event that may happen next.
  struct Event {
    enum class Kind : std::uint8_t { issue, to_iommu, to_driver, drain, copied, complete };
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
    for (std::uint64_t i = 0; i < ops_.size(); ++i) {
      bool const busy =
          ops_[i].is_access() ? d.gpus[ops_[i].gpu].phase != Devices::idle : d.program_runs != 0;
      if ((d.issued >> i & 1U) == 0 && !busy) add(K::issue, i);
    }
    for (std::uint64_t i = 0; i < kIommus; ++i) {
      if (!d.to_iommus[i].empty()) add(K::to_iommu, i);
      if (!d.to_driver[i].empty()) add(K::to_driver, i);
    }
    for (std::uint64_t i = 0; i < d.draining.size(); ++i)
      for (std::uint64_t g = 0; g < kGpus; ++g) {
        bool const used = d.gpus[g].phase == Devices::using_frame && d.gpus[g].page == d.draining[i].page;
        if ((d.draining[i].gpus >> g & 1U) != 0 && !used) add(K::drain, i, g);
      }
    for (std::uint64_t i = 0; i < d.copying.size(); ++i) add(K::copied, i);
    for (std::uint64_t g = 0; g < kGpus; ++g)
      if (d.gpus[g].phase == Devices::using_frame) add(K::complete, g);
    return all;
  }

  void happen(Event const& e) {
    auto& d = devices_;
    switch (e.kind) {
      case Event::Kind::issue:
        d.issued |= std::uint64_t{1} << e.index;
        issue(ops_[e.index]);
        break;
      case Event::Kind::to_iommu:
        at_iommu(e.index, take(d.to_iommus[e.index], 0));
        break;
      case Event::Kind::to_driver:
        at_driver(e.index, take(d.to_driver[e.index], 0));
        break;
      case Event::Kind::drain:
        drain(e.index, e.gpu);
        break;
      case Event::Kind::copied: {
        auto const c = take(d.copying, e.index);
        stale_ += contents(c.from) != c.contents ? 1 : 0;  // written while it was copied
        contents(c.to) = c.contents;
        turn([&](DriverTurn& t) { t.copied({static_cast<std::uint32_t>(c.tag)}); });
        break;
      }
      case Event::Kind::complete:
        complete(d.gpus[e.index]);
        break;
    }
    forget_rows();
  }

  bool is_at_rest() const {
    bool const gpus_rest =
        std::ranges::all_of(devices_.gpus, [](auto const& g) { return g.phase == Devices::idle; });
    return gpus_rest && devices_.issued + 1 == std::uint64_t{1} << ops_.size() &&
           devices_.program_runs == 0 && state_.transitions.in_flight() == 0 && state_.faults.waiting() == 0;
  }

  // Since the start: accesses to other contents than the latest; answers without a waiting access.
  std::uint64_t stale() const { return stale_; }
  std::uint64_t lost() const { return lost_; }
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
    for (std::uint64_t p = kFirst; p < kFirst + kPages; ++p) {
      auto const home = m.home(p);
      if (home) own(home->frame, p);
      for (DeviceId g = 0; g < kGpus; ++g)
        if (home && m.is_on(p, g)) own(m.frame_on(p, g), p);
    }
    for (auto const& p : state_.transitions.pages()) {
      if (p.in_use == 0) continue;
      if (p.from != kNoFrame) own(p.from, p.page());
      if (p.to != kNoFrame) own(p.to, p.page());
    }
    for (std::uint64_t g = 0; g < kGpus; ++g)
      wrong += used[g] + m.frames(g).available() != spec_.frames_per_gpu && !moves_within(g) ? 1 : 0;
    auto const check = [&](PhysAddr f, std::uint64_t page) {
      auto const at = owner.find(f & ~kReadOnly);
      wrong += at == owner.end() || at->second != page ? 1 : 0;
    };
    for (std::uint64_t g = 0; g < kGpus; ++g) {
      for (std::uint64_t p = 0; p < kPages; ++p)
        if (devices_.tlb[g][p] != kNoFrame) check(devices_.tlb[g][p], kFirst + p);
      if (devices_.gpus[g].phase == Devices::using_frame)
        check(devices_.gpus[g].frame, kFirst + devices_.gpus[g].page);
    }
    return wrong;
  }

  std::array<std::uint64_t, kPageSteps> const& taken() const { return state_.transitions.taken(); }

  // DriverLinks.
  void tell_iommus(PageMove const& m, Duration) override {
    if (m.step == MoveStep::map && state_.transitions[m.move].transition == Transition::allocate)
      contents(m.frame) = devices_.latest[m.page - kFirst];
    for (auto& queue : devices_.to_iommus)
      queue.push_back({0, m.page - kFirst, m.frame, m.move, static_cast<std::uint64_t>(m.step), 0, 0});
  }
  void order_copy(DeviceId, CopyOrder const& m, Duration) override {
    devices_.copying.push_back({m.tag, m.from, m.to, contents(m.from)});
  }
  void answer(std::uint32_t iommu, PageMapped const& m, Duration) override {
    devices_.to_iommus[iommu].push_back(
        {1, m.page - kFirst, m.frame, 0, 0, m.entry, static_cast<std::uint64_t>(m.kind)});
  }
  void order_faults(std::uint32_t, FaultOrder const&) override {}
  void report(std::uint32_t, PageLifetimes const&) override {}
  void stall(std::uint32_t, GpuStall const&) override {}
  void end_order(MemoryOrderDone const&) override { devices_.program_runs = 0; }
  void wake_batch(Time) override {}
  void end_copy(std::uint32_t number, Time) override {
    auto const& p = state_.transitions[number];
    devices_.copying.push_back({number, p.from, p.to == kNoFrame ? p.from : p.to, contents(p.from)});
  }

 private:
  template <class T>
  static T take(std::vector<T>& from, std::size_t index) {
    auto const taken = from[index];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(index));
    return taken;
  }
  template <class F>
  void turn(F&& f) {
    DriverTurn t{spec_, state_, *this, Time{}};
    f(t);
    for (auto const& touch : state_.records.first_touches())
      contents(touch.frame) = devices_.latest[touch.page - kFirst];
  }
  void forget_rows() {
    state_.records = PagingRecords();
    state_.memory.size_changes().clear();
    state_.stats = ByApplication<PagingDriverStats>(1);
    state_.work = DriverWork(1);
  }
  std::uint64_t& contents(PhysAddr frame) {
    auto const bare = frame & ~kReadOnly;
    auto const device = device_of(bare) >= kFirstCpu ? kGpus : device_of(bare);
    return devices_.contents.at(device * 4 + (offset_of(bare) >> kPageBits));
  }
  // Frames of a relocation that has not begun belong to no page yet.
  bool moves_within(std::uint64_t gpu) const { return state_.relocations.works_on(gpu); }

  void issue(Request const& op) {
    if (op.is_access()) {
      auto& gpu = devices_.gpus[op.gpu];
      gpu = {Devices::waiting, op.page, op.kind == Request::Kind::write ? std::uint64_t{1} : 0, kNoFrame};
      return translate(op.gpu);
    }
    devices_.program_runs = 1;
    auto const kind = op.kind == Request::Kind::allocate ? OperationKind::allocate : OperationKind::free;
    turn([&](DriverTurn& t) {
      t.s.programs.begin_order({(kFirst + op.page) << kPageBits, std::uint64_t{1} << kPageBits, 0, kind, {}},
                               t);
    });
  }
  void use(std::uint64_t g, PhysAddr frame) {
    devices_.gpus[g].phase = Devices::using_frame;
    devices_.gpus[g].frame = frame;
    devices_.tlb[g][devices_.gpus[g].page] = frame;
  }
  void translate(std::uint64_t g) {
    auto& gpu = devices_.gpus[g];
    auto const permits = [&](PhysAddr f) { return gpu.writes == 0 || !is_read_only(f); };
    auto const own = devices_.tlb[g][gpu.page];
    if (own != kNoFrame && permits(own)) return use(g, own);
    auto const known = devices_.tables[iommu_of(g)][gpu.page];
    if (known == kMoving) return raise(g, FaultKind::moving);
    if (known == kNoFrame) return raise(g, FaultKind::not_mapped);
    if (device_of(known & ~kReadOnly) == g && permits(known)) return use(g, known);
    raise(g, FaultKind::remote);
  }
  void raise(std::uint64_t g, FaultKind kind) {
    auto const& gpu = devices_.gpus[g];
    devices_.to_driver[iommu_of(g)].push_back(
        {1, 0, gpu.page, g, static_cast<std::uint64_t>(kind), gpu.writes});
  }
  void complete(Devices::Gpu& gpu) {
    auto& now = contents(gpu.frame);
    auto& latest = devices_.latest[gpu.page];
    stale_ += now != latest ? 1 : 0;
    if (gpu.writes != 0) now = ++latest;
    gpu = {};
  }
  void acknowledge(std::uint64_t iommu, std::uint64_t move) {
    devices_.to_driver[iommu].push_back({0, move, 0, 0, 0, 0});
  }
  void at_iommu(std::uint64_t i, Devices::ToIommu const& m) {
    auto& known = devices_.tables[i][m.page];
    if (m.is_answer != 0) {
      auto& gpu = devices_.gpus[m.gpu];
      lost_ += gpu.phase != Devices::waiting || gpu.page != m.page ? 1 : 0;
      if (m.kind == static_cast<std::uint64_t>(FaultKind::not_mapped)) known = m.frame;
      if (m.frame == kNoFrame)
        gpu = {};  // the program has freed the page
      else if (gpu.writes != 0 && is_read_only(m.frame))
        translate(m.gpu);
      else
        use(m.gpu, m.frame);
      return;
    }
    auto const below = i == 0 ? std::uint64_t{0b001} : std::uint64_t{0b110};
    switch (static_cast<MoveStep>(m.step)) {
      case MoveStep::unmap:
        known = kMoving;
        devices_.draining.push_back({i, m.move, m.page, below});
        return;
      case MoveStep::forget:
        known = kNoFrame;
        devices_.draining.push_back({i, m.move, m.page, below});
        return;
      case MoveStep::remap:
        known = m.frame;
        return;
      case MoveStep::map:
        known = m.frame;
        return acknowledge(i, m.move);
      case MoveStep::flush:
      case MoveStep::drop:
        return acknowledge(i, m.move);
    }
  }
  void drain(std::size_t index, std::uint64_t g) {
    auto& d = devices_.draining[index];
    devices_.tlb[g][d.page] = kNoFrame;
    d.gpus &= ~(std::uint64_t{1} << g);
    if (d.gpus != 0) return;
    acknowledge(d.iommu, d.move);
    take(devices_.draining, index);
  }
  void at_driver(std::uint64_t iommu, Devices::ToDriver const& m) {
    if (m.is_fault == 0)
      return turn([&](DriverTurn& t) { t.step_done({static_cast<std::uint32_t>(m.move)}); });
    PageFault fault{};
    fault.page = kFirst + m.page;
    fault.gpu = static_cast<std::uint16_t>(m.gpu);
    fault.iommu = static_cast<std::uint16_t>(iommu);
    fault.entry = static_cast<std::uint32_t>(m.gpu);
    fault.kind = static_cast<FaultKind>(m.kind);
    fault.access = m.writes != 0 ? Access::write : Access::read;
    turn([&](DriverTurn& t) {
      t.s.faults.serve(fault, t);
      if (spec_.moves_to_coalesce) t.s.relocations.start_moves(t);
    });
  }

  PagingDriverSpec const& spec_;
  std::vector<Request> ops_;
  PagingDriverState state_;
  Devices devices_;
  std::uint64_t stale_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace farfault::page_world
