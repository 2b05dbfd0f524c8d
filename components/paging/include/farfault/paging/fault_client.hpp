// SPDX-License-Identifier: Apache-2.0
// Faults that are served one by one, on arrival.
//
// - First touch: the page gets a frame on the GPU that touched it. If that memory is full, it gets one on the
//   application's next GPU that has a free frame, then on any other GPU, then on the CPU. A large page is
//   mapped whole if the GPU has a large frame and no part of it is mapped. The contents are assumed to be in
//   place. With `first_touch_copy`, host-written pages are fetched first.
// - The driver spends `fault_latency`, or no time if the IOMMU maps the page. The first CPU's IOMMU reaches
//   the driver in one cycle, others in `notify_latency`.
// - At a fault on another device's page the policy decides (page_decision.hpp): the page or a copy moves to
//   the GPU, after `fault_latency`; or it stays, as for a GPU without room. A move drops all copies.
// - A fault on a page in flight, or raised while it was in flight, is answered with the new frame. A fault on
//   a page that has been mapped for an earlier fault waits and takes no driver time.
// - If walks end in the GPUs (fault_path.hpp), the cause of a fault is the page's state when it is served. A
//   GPU maps a page that stays elsewhere: the answer writes its table, after `fault_latency`. If the page
//   moved while the fault waited, nothing is decided: the next walk faults.
#pragma once

#include <cstdint>
#include <tuple>

#include "farfault/paging/driver_turn.hpp"
#include "farfault/parts/ring.hpp"

namespace farfault {

// A fault at the driver. The policy decides about it once, at the first attempt to serve it that needs the
// decision.
struct WaitingFault {
  PageFault fault{};
  PageAction action = PageAction::stay;
  std::uint8_t is_decided = 0;
  std::uint8_t unused[6] = {};
};

class FaultClient {
 public:
  FaultClient() = default;
  explicit FaultClient(PagingDriverSpec const& spec) : waiting_(spec.queue) {}

  void serve(PageFault const& m, DriverTurn& t);
  // Serves the faults that wait, after a transition has ended.
  void retry(PageInFlight const& done, DriverTurn& t);
  // Answers with the GPU's own frame of the page, or with the page itself.
  void answer(PageFault const& m, Duration after, DriverTurn& t) const;
  std::uint64_t waiting() const { return waiting_.size(); }

  auto members() { return std::tie(waiting_); }

 private:
  // False: the fault must wait.
  bool handle(WaitingFault& waiting, bool may_move, DriverTurn& t) const;
  static PageAction action_at(WaitingFault& waiting, PageFault const& m, PageTranslation const& home,
                              DriverTurn& t);
  bool touch_first(PageFault const& m, DriverTurn& t) const;
  bool bring(PageFault const& m, PageTranslation const& home, PageGoal goal, DriverTurn& t) const;
  void respond(PageFault const& m, PageTranslation const& to, Duration after, DriverTurn& t) const;
  Duration work(FaultKind kind, Duration takes, DriverTurn& t) const;

  Ring<WaitingFault> waiting_;  // for a page in flight, or for others to complete
};

}  // namespace farfault
