// SPDX-License-Identifier: Apache-2.0
// The fault buffer of an IOMMU or a GMMU: pages that a walk has not found, or has found on another device and
// that are to move, until the driver has answered, and whom to tell then.
//
// add() is called when a requester is told that its access is faulted, once for each failed walk and
// requester. The page's first one makes a record, and is a fault for the driver; others are merged with it.
// Without a free record the fault is refused, and the page and its requester are remembered outside the
// buffer: the requester has to be told to ask again (NVIDIA: an overflow loses nothing, the access is
// replayed and faults again; kern_gmmu_gv100.c). release() ends a record, with a replay to each that was
// told.
//
// After a release, retry() says which of the refused, oldest first, are to be told now that they may ask
// again. The first one that may need a record then ends this,
// so that a record is free for it; but with no record left in use all are told. So no refused fault waits
// unless there is a record whose release is still to come: none is lost, whatever becomes of the requests.
//
// Source: NVIDIA's open driver (uvm_gpu_replayable_faults.c, a buffer of entries that the GPU writes), PCIe
// ATS PRI (an IOMMU's page request queue; a request that finds it full is answered, and comes again).
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
  enum class Kept : std::uint8_t { recorded, merged, refused };

  FaultBuffer() = default;
  // `requesters`: different ones at most.
  FaultBuffer(std::uint32_t records, std::uint32_t requesters) : records_(records, records * requesters) {}

  Kept add(std::uint64_t page, Requester const& from) {
    if (auto const record = records_.find(page)) {
      tell_too(*record, from);
      return Kept::merged;
    }
    if (records_.full()) {
      auto const same = [&](Refused const& r) { return r.page == page && r.from == from; };
      if (std::none_of(refused_.begin(), refused_.end(), same)) refused_.push_back({page, from, 0});
      return Kept::refused;
    }
    records_.wait(records_.allocate(page), from);
    return Kept::recorded;
  }
  // Of a page that has one.
  std::uint32_t record_of(std::uint64_t page) const { return *records_.find(page); }
  std::uint64_t page_of(std::uint32_t record) const { return records_.key(record); }
  std::uint32_t in_use() const { return records_.in_use(); }
  std::uint64_t refused() const { return refused_.size(); }

  // Ends the record; calls tell(requester) for each, in the order in which they came.
  template <class Tell>
  void release(std::uint32_t record, Tell&& tell) {
    records_.release(record, tell);
  }
  // Calls tell(page, requester), which says whether the page needs no record any more: it is mapped, where
  // the requester may use it. Never for a page that has a record.
  template <class Tell>
  void retry(Tell&& tell) {
    while (!refused_.empty()) {
      auto const first = refused_.front();
      refused_.erase(refused_.begin());
      if (auto const record = records_.find(first.page)) {
        tell_too(*record, first.from);
        continue;
      }
      bool const served = tell(first.page, first.from);
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

  void tell_too(std::uint32_t record, Requester const& from) {
    bool there = false;
    records_.each_waiter(record, [&](Requester const& r) { there = there || r == from; });
    if (!there) records_.wait(record, from);
  }

  MshrTable<Requester> records_;  // by page
  std::vector<Refused> refused_;
};

}  // namespace farfault
