// SPDX-License-Identifier: Apache-2.0
// Fault buffer of a GPU whose driver serves faults in batches. Each client of the L2 TLB that gets a fault
// response has its own entry, so a page may have several (duplicates).
//
// - add() writes an entry and returns whether to interrupt the driver: at the first entry since the interrupt
//   was armed.
// - drain() removes entries, oldest first; if there are none, it arms the interrupt.
// - If the buffer is full, the fault is dropped and its page remembered. The access stays in its SM and is
//   issued again at a replay of all pages, or page by page by retry(), so none is lost. drop() does the same
//   for a fault without room elsewhere.
// - Source: NVIDIA's open driver (uvm_gpu_replayable_faults.c: GET, PUT, the flush before a replay;
//   kern_gmmu_gv100.c: an overflow is not fatal); Batch-aware unified memory (ASPLOS 2020), section 2.2.
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
  // True if the next entry interrupts the driver.
  bool armed() const { return armed_ != 0; }
  // Pages of dropped faults that have not been replayed.
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
  // Removes up to `most` entries and calls f(entry) for each; returns the number removed.
  template <class F>
  std::uint32_t drain(std::uint32_t most, F&& f) {
    std::uint32_t taken = 0;
    for (; taken < most && !entries_.empty(); ++taken, entries_.pop()) f(entries_.front());
    if (taken == 0) armed_ = 1;
    return taken;
  }
  // All accesses are issued again: forgets the dropped faults.
  void replayed() { dropped_.clear(); }
  // Calls f(page) for each page of a dropped fault, to issue its accesses again.
  template <class F>
  void retry(F&& f) {
    auto const pages = std::move(dropped_);
    dropped_.clear();
    for (auto const page : pages) f(page);
  }
  // Removes all entries and calls f(entry) for each; returns the number removed.
  template <class F>
  std::uint64_t flush(F&& f) {
    auto const removed = entries_.size();
    for (; !entries_.empty(); entries_.pop()) f(std::as_const(entries_).front());
    return removed;
  }

  auto members() { return std::tie(entries_, dropped_, armed_); }

 private:
  Ring<Entry> entries_;
  std::vector<std::uint64_t> dropped_;
  std::uint64_t armed_ = 1;
};

}  // namespace farfault
