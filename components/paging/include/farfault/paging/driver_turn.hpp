// SPDX-License-Identifier: Apache-2.0
// One message at the driver: what its parts need to handle it, and the loop that takes the steps of a
// transition and informs its client.
//
// The parts send messages only through DriverLinks, which the component implements (paging_driver.cpp).
#pragma once

#include <cstdint>

#include "farfault/engine/time.hpp"
#include "farfault/paging/transition_executor.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

struct PagingDriverState;
struct PagingDriverStats;

class DriverLinks {
 public:
  virtual ~DriverLinks() = default;
  // To every IOMMU.
  virtual void tell_iommus(PageMove const& m, Duration after) = 0;
  // To the copy engine of a GPU.
  virtual void order_copy(DeviceId engine, CopyOrder const& m, Duration after) = 0;
  // To the IOMMU that asked or, for a first touch of the first IOMMU, over its shorter link.
  virtual void answer(std::uint32_t iommu, PageMapped const& m, Duration after) = 0;
  // By the driver's own GPU number. to_gpu(): through the port of the GPU's CPU.
  virtual void to_gpu(std::uint32_t gpu, Packet const& m) = 0;
  virtual void report(std::uint32_t gpu, PageLifetimes const& m) = 0;
  virtual void stall(std::uint32_t gpu, GpuStall const& m) = 0;
  virtual void end_order(MemoryOrderDone const& m) = 0;
  // Timers. A copy within a memory ends like that of a copy engine.
  virtual void wake_batch(Time at) = 0;
  virtual void wake_counters(Time at) = 0;
  virtual void end_copy(std::uint32_t number, Time at) = 0;
};

enum class PageProgress : std::uint8_t { none, changed, ended };

// reserved: or the transition needs no frame to begin. refused: the GPU gets none for the page, or has no
// large frame for a large page, which is counted. stalled: a large frame is being emptied for it.
enum class FrameOnGpu : std::uint8_t { reserved, refused, stalled };

struct DriverTurn {
  PagingDriverSpec const& spec;
  DriverFacts const& facts;
  PagingDriverState& s;
  DriverLinks& out;
  Time now;

  // Takes the steps of transition `number`, up to the next one that waits. Messages are sent `after` this
  // time, the driver's work. changed: the client was informed.
  PageProgress run(std::uint32_t number, Duration after = {});
  // Gives the page a frame on its requester, before a transition that brings it there begins.
  FrameOnGpu reserve_frame(PageInFlight& page);
  // Begins a transition and takes its first steps.
  PageProgress begin(PageInFlight const& page, Duration after = {});
  // The old frame of the page, which is in flight, or a copy is on the device.
  bool holds_frame(PageInFlight const& page, DeviceId device) const;
  // A step or a copy is complete.
  void step_done(StepDone const& m);
  void copied(CopyDone const& m);

 private:
  void advance(std::uint32_t number);
  void copy(std::uint32_t number, Duration after);
  void changed(PageInFlight const& page, Duration after);
  void ended(PageInFlight const& done, bool was_immediate);
};

}  // namespace farfault
