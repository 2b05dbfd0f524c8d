// SPDX-License-Identifier: Apache-2.0
// Memory of the devices of one driver, as the driver records it: free frames, the page table, copies of
// pages, and the policy that decides about pages at faults.
//
// - The table coalesces base pages on a GPU as the tables of IOMMUs and GPUs do. A page that is being moved
//   keeps its entry until it is mapped again. If base pages are coalesced, it is unmapped meanwhile, and the
//   large page around it is splintered.
// - The specification must outlive it. It is neither saved nor hashed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "farfault/engine/archive.hpp"
#include "farfault/paging/driver_spec.hpp"
#include "farfault/paging/frame_owners.hpp"
#include "farfault/paging/page_copies.hpp"
#include "farfault/paging/page_decision.hpp"
#include "farfault/paging/page_directory.hpp"
#include "farfault/paging/page_transition.hpp"

namespace farfault {

// Row of a table, until it is written: base pages coalesced into a large page, or a large page splintered.
struct PageSizeRecord {
  std::uint64_t page = 0;  // first base page
  Time at{};
  std::uint64_t coalesced = 0;  // 1: coalesced; 0: splintered
};

class DriverMemory {
 public:
  DriverMemory() = default;
  // With the pages placed at time zero and the host's pages.
  explicit DriverMemory(PagingDriverSpec const& spec);

  PageTable const& table() const { return table_; }
  // By the driver's GPU number.
  FrameAllocator& frames(std::uint64_t gpu) { return frames_[gpu]; }
  FrameAllocator const& frames(std::uint64_t gpu) const { return frames_[gpu]; }
  FrameAllocator const& cpu_frames() const { return *cpu_frames_; }
  FrameAllocator& pool(DeviceId device) {
    return device >= kFirstCpu ? *cpu_frames_ : frames_[spec_->devices.number_of(device)];
  }
  FrameAllocator const& pool(DeviceId device) const {
    return device >= kFirstCpu ? *cpu_frames_ : frames_[spec_->devices.number_of(device)];
  }
  bool all_full() const;
  PageCopies const& copies() const { return copies_; }
  PageSizes& page_sizes() { return *page_sizes_; }
  StatSource const& frame_statistics() const { return frames_; }
  StatSource const& size_statistics() const { return page_sizes_; }
  StatSource const& decision_statistics() const { return decision_; }
  Policy<PageDecision>& decision() { return decision_; }
  // First base pages of large pages that wait to be coalesced.
  std::vector<std::uint64_t>& to_coalesce() { return to_coalesce_; }
  std::vector<PageSizeRecord>& size_changes() { return size_changes_; }

  // State of a page, and of its home. For an unmapped page: whether it is planned, so a program has not
  // allocated it yet or has freed it; whether the host wrote its contents.
  std::optional<PageTranslation> home(std::uint64_t page) const { return table_.find_mapped(page); }
  // First base page of the page that contains base page `page`.
  std::uint64_t first_page_of(std::uint64_t page) const {
    if (!spec_->large.any()) return page;
    auto const found = home(page);
    return found ? first_of(page, found->size) : page;
  }
  bool is_shared(std::uint64_t page) const { return spec_->makes_copies && copies_.read_only(page); }
  PageState state_of(std::uint64_t page) const;
  bool is_unallocated(std::uint64_t page) const;
  bool host_wrote(std::uint64_t page) const;
  // The device holds the page or a copy of it, and may access it.
  bool is_on(std::uint64_t page, DeviceId device) const { return frame_on(page, device) != kNoFrame; }
  PhysAddr frame_on(std::uint64_t page, DeviceId device) const;
  PhysAddr frame_on(std::uint64_t page, DeviceId device, PageTranslation const& home) const {
    if (device_of(home.frame) == device) return home.frame;
    return spec_->makes_copies ? copies_.find(page, device).value_or(kNoFrame) : kNoFrame;
  }
  bool allows(std::uint64_t page, Access access, DeviceId device, PageTranslation const& home) const {
    return frame_on(page, device, home) != kNoFrame && !(access == Access::write && is_shared(page));
  }
  // A frame for a page of this size is free on the device.
  bool has_frame(unsigned size, DeviceId device) const {
    return size == 0 ? !pool(device).empty() : pool(device).has_large(size);
  }
  // A GPU gets no frame for the page: its memory is full, or it may cache lines that a copy would leave
  // stale.
  bool refuses(Transition transition, std::uint64_t page, DeviceId gpu) const {
    return pool(gpu).empty() || (adds_copy(transition) && may_read_remotely(page, gpu));
  }
  // Page whose frame this is or was last, and the end of the frames in use since the start; only if accesses
  // are counted.
  std::optional<std::uint64_t> owner_of(PhysAddr frame) const {
    return owners_.page_at(memory_of(device_of(frame)), offset_of(frame) >> spec_->page_bits);
  }
  std::uint64_t used_bytes(DeviceId device) const {
    return owners_.end(memory_of(device)) << spec_->page_bits;
  }
  // False: at a fault, a page that is mapped elsewhere stays there.
  bool decides_at_faults() const { return decides_; }
  // Action at a fault on a page that is mapped at `home`; `stay` if the GPU may access it.
  PageAction decide(std::uint64_t page, PageTranslation const& home, DeviceId gpu, Access access,
                    FaultKind cause, bool is_prefetch = false);
  // Action for a page in a region to which the GPU has made `accesses` counted accesses.
  PageAction decide_counted(std::uint64_t page, PageTranslation const& home, DeviceId gpu,
                            std::uint32_t accesses);
  // The frame as translations show it: read-only if the page has copies.
  PhysAddr shown(std::uint64_t page, PhysAddr frame) const {
    return is_shared(page) ? read_only(frame) : frame;
  }

  // A frame for the whole page; kNoFrame: none is free.
  PhysAddr take_whole(std::uint64_t page, unsigned size, DeviceId device);
  // A frame for a page of this size, or for the base page if no large frame is free.
  PageTranslation take(std::uint64_t page, unsigned size, DeviceId device);
  // As take(), on `wanted` or, if its memory is full, on another device. Some device must have a free frame.
  PageTranslation take_near(std::uint64_t page, unsigned size, DeviceId wanted, std::uint32_t application);
  void release(PageTranslation const& page);
  void map(std::uint64_t page, PageTranslation const& to, Time now);
  // The page is about to be moved or freed.
  void splinter(std::uint64_t page, Time now);
  // The page is freed.
  void unmap(std::uint64_t page, unsigned size);

  // Copies. take_copy_elsewhere(): removes the latest copy that is not on the device.
  void add_copy(std::uint64_t page, PhysAddr frame) { copies_.add(page, frame); }
  PhysAddr take_copy(std::uint64_t page, DeviceId device) { return copies_.take(page, device); }
  std::optional<PhysAddr> take_copy_elsewhere(std::uint64_t page, DeviceId device);
  // Removes all copies; the page is writable.
  void end_sharing(std::uint64_t page);
  // The latest copy becomes the page: its frame, if there is one. A page without further copies is writable.
  std::optional<PhysAddr> hand_over(std::uint64_t page);
  // GPUs that read a page with copies remotely. They may cache its lines, which a later copy would leave
  // stale.
  void add_remote_reader(std::uint64_t page, DeviceId gpu) { remote_readers_.add_holder(page, gpu); }
  bool may_read_remotely(std::uint64_t page, DeviceId gpu) const {
    return is_shared(page) && remote_readers_.may_hold(page, gpu);
  }

  void archive(Archive& a) {
    a(table_, frames_, cpu_frames_, copies_, remote_readers_, page_sizes_, to_coalesce_, size_changes_,
      decision_, owners_);
  }

 private:
  bool runs_on(std::uint32_t application, std::uint32_t gpu) const;
  // Number in owners_.
  std::uint32_t memory_of(DeviceId device) const {
    return device >= kFirstCpu ? spec_->devices.gpus() : spec_->devices.number_of(device);
  }
  void own(std::uint64_t page, PageTranslation const& at);

  PagingDriverSpec const* spec_ = nullptr;
  PageTable table_;
  PolicyArray<FrameAllocator> frames_;
  Policy<FrameAllocator> cpu_frames_;
  PageCopies copies_;
  PageDirectory remote_readers_;
  Policy<PageSizes> page_sizes_;
  Policy<PageDecision> decision_;  // only if it decides at the driver
  bool decides_ = false;           // at faults
  FrameOwners owners_;             // only if accesses are counted
  std::vector<std::uint64_t> to_coalesce_;
  std::vector<PageSizeRecord> size_changes_;
};

}  // namespace farfault
