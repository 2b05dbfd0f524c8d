// SPDX-License-Identifier: Apache-2.0
// Everything outside the driver in a small world (page_world.hpp): three GPUs with one access at a time, two
// IOMMUs (GPU 0; GPUs 1 and 2), two base pages that form one large page, copy engines, fault buffers.
//
// If walks end in the GPUs, each GPU has a page table, and each IOMMU records the GPUs that may have an
// entry.
//
// If the base pages are mapped as one large page, each table and TLB holds both of them or none. A page's
// frame is always that of the base page.
//
// Contents of a frame: page + 1 if it holds the latest contents of that page, otherwise 0. A write makes the
// contents of all other frames and of copies in flight outdated.
#pragma once

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "farfault/engine/archive.hpp"
#include "farfault/protocols/messages.hpp"
#include "farfault/translation/page_table.hpp"
#include "page_choices.hpp"

namespace farfault::page_world {

inline constexpr unsigned kPageBits = 38;  // the last level of a page table has two entries
inline constexpr std::uint64_t kPageBytes = std::uint64_t{1} << kPageBits;
inline constexpr std::uint64_t kFirst = 2;
inline constexpr std::uint64_t kPages = 2;
// Page numbers of pages 0 and 1: neighbours, or equal numbers in two address spaces.
class PageNumbers {
 public:
  PageNumbers() = default;
  explicit PageNumbers(std::uint32_t spaces)
      : step_(spaces == 1 ? 1 : std::uint64_t{1} << PageLevels(kPageBits).bits()) {}
  std::uint64_t of(std::uint64_t page) const { return kFirst + page * step_; }
  std::uint64_t page(std::uint64_t number) const { return (number - kFirst) / step_; }

 private:
  std::uint64_t step_ = 1;
};
inline constexpr std::uint64_t kGpus = 3;
inline constexpr std::uint64_t kIommus = 2;
inline constexpr std::uint64_t kFrames = 4;        // at most, of a device
inline constexpr PhysAddr kMoving = kNoFrame - 1;  // of a page in an IOMMU's table
constexpr std::uint64_t iommu_of(std::uint64_t gpu) {
  return gpu == 0 ? 0 : 1;
}

// An access of a GPU, an operation of a program, or a notification of a GPU's access counters about the frame
// of a page.
struct Request {
  enum class Kind : std::uint8_t { read, write, allocate, free, count };
  Kind kind = Kind::read;
  std::uint8_t gpu = 0;
  std::uint8_t page = 0;  // 0 or 1

  bool is_access() const { return kind == Kind::read || kind == Kind::write; }
  bool is_of_program() const { return kind == Kind::allocate || kind == Kind::free; }
  bool operator==(Request const&) const = default;
};

// Requests for a page on another device that the IOMMU answers with its frame, because the policy does not
// decide them or lets the page stay: none; reads of a page without copies; all of them; any that are not
// for a page with copies (page_choices.hpp).
enum class ServedRemotely : std::uint64_t { none, reads, all, any };

// Every number has 64 bits: the state has no padding.
class Devices {
 public:
  enum Phase : std::uint64_t { idle, waiting, using_frame };
  struct Gpu {
    std::uint64_t phase = idle, page = 0, writes = 0, frame = kNoFrame;
  };
  // placed: the answer to a first touch, on a shorter link, so that it may overtake the others.
  enum class Down : std::uint64_t { move, answer, placed };
  struct ToIommu {
    Down what = Down::move;
    std::uint64_t page = 0, frame = 0, move = 0, step = 0, gpu = 0, kind = 0;
    bool operator==(ToIommu const&) const = default;
  };
  struct Fault {
    std::uint64_t page = 0, kind = 0, writes = 0;
  };
  enum class NoteKind : std::uint64_t { interrupt, entry, drained };
  struct Note {  // of a GPU's fault buffer
    NoteKind what = NoteKind::interrupt;
    std::uint64_t page = 0, writes = 0, entries = 0;
  };
  struct Entry {
    std::uint64_t page = 0, writes = 0;
  };
  struct Copying {
    std::uint64_t tag = 0, from = 0, to = 0, contents = 0;
    std::uint64_t next = 0;  // contents of the second base page of a large page
  };
  struct Drain {
    std::uint64_t iommu = 0, move = 0, page = 0, gpus = 0;  // GPUs that have not acknowledged
  };

  // `ends_walks`: walks end in the GPUs. `large`: the base pages are one large page.
  Devices(bool batches, bool ends_walks, bool large, ServedRemotely served)
      : batches_(batches), ends_walks_(ends_walks), large_(large), served_(served) {
    for (auto& t : tlb) t.fill(kNoFrame);
    for (auto& t : page_tables) t.fill(kNoFrame);
    for (auto& t : tables) t.fill(kNoFrame);
  }

  void archive(Archive& a) {
    a(gpus, tlb, page_tables, tables, holders, buffers, interrupted, to_iommus, orders, steps_done, faults,
      notes, copying, draining, contents_, issued, program_runs);
  }

  std::uint64_t& contents(PhysAddr frame) {
    auto const bare = frame & ~kReadOnly;
    auto const device = device_of(bare) >= kFirstCpu ? kGpus : device_of(bare);
    return contents_.at(device * kFrames + (offset_of(bare) >> kPageBits));
  }
  // The frame gets the only latest contents of the page.
  void renew(std::uint64_t page, PhysAddr frame) {
    for (auto& c : contents_)
      if (c == page + 1) c = 0;
    for (auto& c : copying)
      for (auto* const copied : {&c.contents, &c.next})
        if (*copied == page + 1) *copied = 0;
    contents(frame) = page + 1;
  }

  void access(Request const& op) {
    gpus[op.gpu] = {waiting, op.page, op.kind == Request::Kind::write ? std::uint64_t{1} : 0, kNoFrame};
    translate(op.gpu);
  }
  void at_iommu(std::uint64_t i, std::size_t index) {
    auto const m = take(to_iommus[i], index);
    m.what == Down::move ? moved(i, m) : answered(i, m);
  }
  // The fault buffer of a GPU executes the driver's oldest order.
  void at_gmmu(std::uint64_t g) {
    auto const kind = static_cast<FaultOrderKind>(take(orders[g], 0));
    auto& buffer = buffers[g];
    if (kind == FaultOrderKind::drain) {
      for (auto const& e : buffer) note(NoteKind::entry, g, e, 0);
      note(NoteKind::drained, g, {}, buffer.size());
      if (buffer.empty()) interrupted[g] = 0;
      return buffer.clear();
    }
    if (kind == FaultOrderKind::flush_replay) buffer.clear();
    if (gpus[g].phase == waiting) translate(g);
  }
  void drain(std::size_t index, std::uint64_t g) {
    auto& d = draining[index];
    each(d.page, kNoFrame, [&](std::uint64_t p, PhysAddr f) { tlb[g][p] = page_tables[g][p] = f; });
    d.gpus &= ~(std::uint64_t{1} << g);
    if (d.gpus != 0) return;
    acknowledge(d.iommu, d.move);
    take(draining, index);
  }
  void complete(std::uint64_t g) {
    auto& gpu = gpus[g];
    stale += contents(gpu.frame) != gpu.page + 1 ? 1 : 0;
    if (gpu.writes != 0) renew(gpu.page, gpu.frame);
    gpu = {};
  }
  void copy(std::uint64_t tag, PhysAddr from, PhysAddr to) {
    copying.push_back({.tag = tag,
                       .from = from,
                       .to = to,
                       .contents = contents(from),
                       .next = large_ ? contents(from + kPageBytes) : 0});
  }
  Copying copied(std::size_t index) {
    auto const c = take(copying, index);
    stale += contents(c.from) != c.contents ? 1 : 0;  // written while it was copied
    contents(c.to) = c.contents;
    if (!large_) return c;
    stale += contents(c.from + kPageBytes) != c.next ? 1 : 0;
    contents(c.to + kPageBytes) = c.next;
    return c;
  }
  // The access uses one of the pages that are being invalidated.
  bool is_used(Drain const& d, std::uint64_t g) const {
    return gpus[g].phase == using_frame && (large_ || gpus[g].page == d.page);
  }
  // Index of the oldest answer to a first touch that is not the IOMMU's next message; 0: none.
  std::size_t first_placed(std::uint64_t iommu) const {
    auto const& queue = to_iommus[iommu];
    for (std::size_t k = 1; k < queue.size(); ++k)
      if (queue[k].what == Down::placed && queue[0].what != Down::placed) return k;
    return 0;
  }
  template <class T>
  static T take(std::vector<T>& from, std::size_t index) {
    auto const taken = from[index];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(index));
    return taken;
  }

  std::array<Gpu, kGpus> gpus{};
  std::array<std::array<std::uint64_t, kPages>, kGpus> tlb{};
  std::array<std::array<std::uint64_t, kPages>, kGpus> page_tables{};  // page tables of GPUs
  std::array<std::array<std::uint64_t, kPages>, kIommus> holders{};    // GPUs, one bit each
  std::array<std::array<std::uint64_t, kPages>, kIommus> tables{};
  std::array<std::vector<Entry>, kGpus> buffers;  // of faults, with batches
  std::array<std::uint64_t, kGpus> interrupted{};
  // Messages in flight. Each of these lists is in order.
  std::array<std::vector<ToIommu>, kIommus> to_iommus;
  std::array<std::vector<std::uint64_t>, kGpus> orders;        // FaultOrderKind
  std::array<std::vector<std::uint64_t>, kIommus> steps_done;  // numbers of moves
  std::array<std::vector<Fault>, kGpus> faults;
  std::array<std::vector<Note>, kGpus> notes;
  // These end in any order.
  std::vector<Copying> copying;
  std::vector<Drain> draining;
  std::uint64_t issued = 0;  // requests, one bit each
  std::uint64_t program_runs = 0;
  // A planted fault: an IOMMU acknowledges `unmap` before its GPUs have drained their accesses.
  bool acknowledges_early = false;
  // Likewise: it does not record the GPUs that map a page remotely.
  bool forgets_holders = false;
  // Since the start: accesses to other contents than the latest; answers without a waiting access.
  std::uint64_t stale = 0;
  std::uint64_t lost = 0;

 private:
  // Calls f(page, frame) for the page or, if it is a base page of a large page, for each of them.
  template <class F>
  void each(std::uint64_t page, PhysAddr frame, F&& f) const {
    f(page, frame);
    if (large_) f(1 - page, frame < kMoving ? frame ^ kPageBytes : frame);
  }
  void use(std::uint64_t g, PhysAddr frame) {
    gpus[g].phase = using_frame;
    gpus[g].frame = frame;
    each(gpus[g].page, frame, [&](std::uint64_t p, PhysAddr at) { tlb[g][p] = at; });
  }
  void translate(std::uint64_t g) {
    auto const& gpu = gpus[g];
    auto const permits = [&](PhysAddr f) { return gpu.writes == 0 || !is_read_only(f); };
    auto const own = tlb[g][gpu.page];
    if (own != kNoFrame && permits(own)) return use(g, own);
    if (ends_walks_) {
      auto const entry = page_tables[g][gpu.page];
      return entry != kNoFrame && permits(entry) ? use(g, entry) : raise(g, FaultKind::not_mapped);
    }
    auto const known = tables[iommu_of(g)][gpu.page];
    if (known == kMoving) return raise(g, FaultKind::moving);
    if (known == kNoFrame) return raise(g, FaultKind::not_mapped);
    if (device_of(known & ~kReadOnly) == g && permits(known)) return use(g, known);
    if (is_served(gpu.writes == 0, is_read_only(known))) return use(g, known);
    raise(g, FaultKind::remote);
  }
  bool is_served(bool reads, bool has_copies) const {
    switch (served_) {
      case ServedRemotely::none:
        return false;
      case ServedRemotely::reads:
        return reads && !has_copies;
      case ServedRemotely::all:
        return true;
      case ServedRemotely::any:
        return !has_copies && choices.choose(2) == 0;
    }
    return false;
  }
  void raise(std::uint64_t g, FaultKind kind) {
    auto const& gpu = gpus[g];
    if (!batches_) {
      faults[g].push_back({gpu.page, static_cast<std::uint64_t>(kind), gpu.writes});
      return;
    }
    buffers[g].push_back({gpu.page, gpu.writes});
    if (std::exchange(interrupted[g], 1) == 0) note(NoteKind::interrupt, g, {}, 0);
  }
  void note(NoteKind what, std::uint64_t g, Entry const& e, std::uint64_t entries) {
    notes[g].push_back({what, e.page, e.writes, entries});
  }
  void write_entry(std::uint64_t g, std::uint64_t page, PhysAddr frame) {
    if (ends_walks_) each(page, frame, [&](std::uint64_t p, PhysAddr at) { page_tables[g][p] = at; });
  }
  void hold(std::uint64_t i, std::uint64_t g, std::uint64_t page, PhysAddr frame) {
    if (!ends_walks_) return;
    write_entry(g, page, frame);
    if (forgets_holders) return;
    each(page, frame, [&](std::uint64_t p, PhysAddr) { holders[i][p] |= std::uint64_t{1} << g; });
  }
  void acknowledge(std::uint64_t iommu, std::uint64_t move) { steps_done[iommu].push_back(move); }
  void answered(std::uint64_t i, ToIommu const& m) {
    auto& gpu = gpus[m.gpu];
    bool const waits = gpu.phase == waiting && gpu.page == m.page;
    bool const once =
        m.kind == static_cast<std::uint64_t>(FaultKind::moving) && device_of(m.frame & ~kReadOnly) != m.gpu;
    if (m.frame != kNoFrame) hold(i, m.gpu, m.page, once ? page_tables[m.gpu][m.page] : m.frame);
    if (batches_ && !waits) return;  // a second answer
    lost += waits ? 0 : 1;
    if (!batches_ && m.kind == static_cast<std::uint64_t>(FaultKind::not_mapped)) set(i, m.page, m.frame);
    if (m.frame == kNoFrame)
      gpu = {};  // the program has freed the page
    else if (gpu.writes != 0 && is_read_only(m.frame))
      translate(m.gpu);
    else
      use(m.gpu, m.frame);
  }
  // The page in an IOMMU's table.
  void set(std::uint64_t i, std::uint64_t page, PhysAddr frame) {
    each(page, frame, [&](std::uint64_t p, PhysAddr at) { tables[i][p] = at; });
  }
  std::uint64_t take_holders(std::uint64_t i, std::uint64_t page) {
    std::uint64_t held = 0;
    each(page, kNoFrame, [&](std::uint64_t p, PhysAddr) { held |= std::exchange(holders[i][p], 0); });
    return held;
  }
  void moved(std::uint64_t i, ToIommu const& m) {
    auto const below = i == 0 ? std::uint64_t{0b001} : std::uint64_t{0b110};
    auto const holder = device_of(m.frame & ~kReadOnly);
    bool const holder_below = holder < kGpus && iommu_of(holder) == i;
    switch (static_cast<MoveStep>(m.step)) {
      case MoveStep::unmap:
        set(i, m.page, kMoving);
        if (acknowledges_early) return acknowledge(i, m.move);
        if (ends_walks_) {
          auto const held = take_holders(i, m.page) | (holder_below ? std::uint64_t{1} << holder : 0);
          if (held == 0) return acknowledge(i, m.move);
          draining.push_back({i, m.move, m.page, held});
          return;
        }
        draining.push_back({i, m.move, m.page, below});
        return;
      case MoveStep::forget:
        set(i, m.page, kNoFrame);
        take_holders(i, m.page);
        draining.push_back({i, m.move, m.page, below});
        return;
      case MoveStep::remap:
        set(i, m.page, m.frame);
        if (m.gpu < kGpus && iommu_of(m.gpu) == i) write_entry(m.gpu, m.page, m.frame);
        return;
      case MoveStep::map:
        set(i, m.page, m.frame);
        if (holder_below) write_entry(holder, m.page, m.frame);
        return acknowledge(i, m.move);
      case MoveStep::map_remote:
        set(i, m.page, m.frame);
        if (m.gpu < kGpus && iommu_of(m.gpu) == i) hold(i, m.gpu, m.page, m.frame);
        return acknowledge(i, m.move);
      case MoveStep::map_copy:
        if (holder_below) {
          tlb[holder][m.page] = m.frame;
          hold(i, holder, m.page, m.frame);
        }
        return acknowledge(i, m.move);
      case MoveStep::drop:
        if (!holder_below) return acknowledge(i, m.move);
        draining.push_back({i, m.move, m.page, std::uint64_t{1} << holder});
        return;
      case MoveStep::flush:
        return acknowledge(i, m.move);
    }
  }

  bool const batches_;
  bool const ends_walks_;
  bool const large_;
  ServedRemotely const served_;
  std::array<std::uint64_t, (kGpus + 1) * kFrames> contents_{};
};

}  // namespace farfault::page_world
