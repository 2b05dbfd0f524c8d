// SPDX-License-Identifier: Apache-2.0
// Fault buffer of an IOMMU or a GMMU: faulted pages, with the requesters to notify, until the driver has
// answered. A page faults if a walk does not find it, or finds it on another device and it is to move.
//
// - add() is called once per failed walk and requester, when the requester receives the fault response. The
//   first fault on a page allocates an entry and is sent to the driver; later ones are merged with it.
// - If the buffer is full, the fault is refused. Its page and requester are remembered outside the buffer,
//   and the requester must be notified to request the page again (NVIDIA: no fault is lost in an overflow,
//   the access is replayed and faults again; kern_gmmu_gv100.c).
// - release() frees an entry and sends a replay to each of its requesters.
// - retry(), called after a release, notifies refused requesters, oldest first. It stops at the first one
//   that may need an entry, so that an entry is free for it; if no entry is in use, it notifies all. So a
//   refused fault waits only while an entry is in use, and none is lost.
// - Source: NVIDIA's open driver (uvm_gpu_replayable_faults.c, a buffer of entries that the GPU writes); PCIe
//   ATS PRI (page request queue of an IOMMU; a request that finds it full is answered and sent again).
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "farfault/parts/mshr.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

class FaultBuffer {
 public:
  struct Requester {
    NodeId node = 0;
    std::uint16_t gpu = 0;
    friend bool operator==(Requester const&, Requester const&) = default;
  };
  enum class Outcome : std::uint8_t { recorded, merged, refused };

  FaultBuffer() = default;
  // `requesters`: maximum number of different requesters.
  FaultBuffer(std::uint32_t records, std::uint32_t requesters) : records_(records, records * requesters) {}

  Outcome add(std::uint64_t page, Requester const& from) {
    if (auto const record = records_.find(page)) {
      add_requester(*record, from);
      return Outcome::merged;
    }
    if (records_.full()) {
      auto const same = [&](Refused const& r) { return r.page == page && r.from == from; };
      if (std::none_of(refused_.begin(), refused_.end(), same)) refused_.push_back({page, from, 0});
      return Outcome::refused;
    }
    records_.wait(records_.allocate(page), from);
    return Outcome::recorded;
  }
  // Entry of a page that has one.
  std::uint32_t record_of(std::uint64_t page) const { return *records_.find(page); }
  std::uint64_t page_of(std::uint32_t record) const { return records_.key(record); }
  std::uint32_t in_use() const { return records_.in_use(); }
  std::uint64_t refused() const { return refused_.size(); }

  // Frees the entry. Calls notify(requester) for each requester, in the order of their faults.
  template <class Notify>
  void release(std::uint32_t record, Notify&& notify) {
    records_.release(record, notify);
  }
  // Calls notify(page, requester), never for a page that has an entry. It returns whether the page no longer
  // needs an entry, because it is mapped where the requester may use it.
  template <class Notify>
  void retry(Notify&& notify) {
    while (!refused_.empty()) {
      auto const first = refused_.front();
      refused_.erase(refused_.begin());
      if (auto const record = records_.find(first.page)) {
        add_requester(*record, first.from);
        continue;
      }
      bool const served = notify(first.page, first.from);
      if (!served && in_use() != 0) return;
    }
  }

  auto members() { return std::tie(records_, refused_); }

 private:
  struct Refused {
    std::uint64_t page = 0;
    Requester from{};
    std::uint32_t unused = 0;
  };

  void add_requester(std::uint32_t record, Requester const& from) {
    bool found = false;
    records_.each_waiter(record, [&](Requester const& r) { found = found || r == from; });
    if (!found) records_.wait(record, from);
  }

  MshrTable<Requester> records_;  // by page
  std::vector<Refused> refused_;
};

}  // namespace farfault
