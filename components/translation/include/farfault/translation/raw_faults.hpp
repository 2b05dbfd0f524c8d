// SPDX-License-Identifier: Apache-2.0
// The fault buffer of a GPU whose driver serves faults in batches: one entry for each client of the L2 TLB
// that is told that its page is faulted, so a page may have several (duplicates).
//
// add() writes an entry, and says when the driver is to be interrupted: at the first entry since the
// interrupt was armed. drain() takes entries out, the oldest first, and frees their room; when there are none
// it arms the interrupt. An entry that finds no room is dropped, and its page remembered: nothing is lost,
// since the access stays with its SM, and is made again at a replay of all pages, which forgets what was
// dropped, or page by page by retry(). drop() does that to a fault for which there is no room elsewhere.
//
// Source: NVIDIA's open driver (uvm_gpu_replayable_faults.c: GET, PUT, the flush before a replay;
// kern_gmmu_gv100.c: an overflow is not fatal), Batch-aware unified memory (ASPLOS 2020), section 2.2.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "farfault/parts/ring.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

class RawFaults {
 public:
  struct Entry {
    RawFault fault{};
    Time raised{};
  };
  enum class Added : std::uint8_t { written, interrupts, dropped };

  RawFaults() = default;
  explicit RawFaults(std::uint32_t entries) : entries_(entries) {}

  std::uint64_t size() const { return entries_.size(); }
  bool full() const { return entries_.full(); }
  // The next entry interrupts.
  bool armed() const { return armed_ != 0; }
  // Pages whose entries were dropped, and that wait for a replay.
  std::uint64_t dropped_pages() const { return dropped_.size(); }

  Added add(RawFault const& fault, Time now) {
    if (entries_.full()) {
      drop(fault.page);
      return Added::dropped;
    }
    entries_.push({fault, now});
    if (armed_ == 0) return Added::written;
    armed_ = 0;
    return Added::interrupts;
  }
  void drop(std::uint64_t page) {
    if (std::ranges::find(dropped_, page) == dropped_.end()) dropped_.push_back(page);
  }
  // Calls f(entry) for up to `most`; returns how many.
  template <class F>
  std::uint32_t drain(std::uint32_t most, F&& f) {
    std::uint32_t taken = 0;
    for (; taken < most && !entries_.empty(); ++taken, entries_.pop()) f(entries_.front());
    if (taken == 0) armed_ = 1;
    return taken;
  }
  // All accesses are made again.
  void replayed() { dropped_.clear(); }
  // So are those whose entries were dropped: calls f(page) for each page.
  template <class F>
  void retry(F&& f) {
    auto const pages = std::move(dropped_);
    dropped_.clear();
    for (auto const page : pages) f(page);
  }
  // Removes all entries, and calls f(entry) for each; returns how many.
  template <class F>
  std::uint64_t flush(F&& f) {
    auto const gone = entries_.size();
    for (; !entries_.empty(); entries_.pop()) f(std::as_const(entries_).front());
    return gone;
  }

  auto members() { return std::tie(entries_, dropped_, armed_); }

 private:
  Ring<Entry> entries_;
  std::vector<std::uint64_t> dropped_;
  std::uint64_t armed_ = 1;
};

}  // namespace farfault
