// SPDX-License-Identifier: Apache-2.0
// Access counters of a GPU: accesses per region of physical memory and per peer, and the buffer of
// notifications to the driver.
//
// - Passive: no time, no messages. The port of a GPU owns it (fabric.hpp), and the driver reads and clears it
//   (paging/counter_client.hpp).
// - count(): returns the notification of a region whose count has reached the threshold. A region notifies
//   once; it notifies again after clear() and as many accesses. Counts saturate.
// - Notification buffer: a notification that finds it full is dropped, and its region is not reported any
//   more, because the driver clears only the regions that it has served. read() frees entries.
// - Counters: one per region and peer that was ever accessed, or a limited number (counter_table.hpp). A
//   region that loses its counter loses its count and accessed sub-regions, and may notify again. Its unread
//   notification remains; its clear resets a counter that the region has got since. The number in hardware is
//   not public.
// - Source: NVIDIA's open driver, uvm_gpu_access_counters.c. Hardware: NVIDIA Volta to Blackwell. Its entry
//   has no type of access: reads and writes count alike.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "farfault/engine/params.hpp"
#include "farfault/fabric/counter_table.hpp"
#include "farfault/protocols/counter_regions.hpp"
#include "farfault/protocols/facts.hpp"

namespace farfault {

// outbound: at the exit of the accessing GPU, by region of a remote memory. inbound: at the entry of the GPU
// that has the memory, by its own region and requester.
enum class CounterPlace : std::uint8_t { outbound, inbound };

struct AccessCounterParams {
  CounterPlace place = CounterPlace::outbound;
  ByteSize granularity{std::uint64_t{2} << 20};
  std::uint32_t threshold = 256;
  std::uint32_t counters = 0;
  std::uint32_t notifications = 4096;
  std::uint32_t notification_bytes = 32;
  void describe(ParamTable& t) {
    auto const if_counted = t.only_when(facts::kAccessCounters);
    t.choice(
        "place", place,
        {{"outbound", CounterPlace::outbound,
          "at the exit of the accessing GPU, by region of a remote memory"},
         {"inbound", CounterPlace::inbound,
          "at the entry of the GPU with the memory, by its own region and requester; accesses to CPU "
          "memory are not counted"}},
        "Accesses that a GPU counts",
        "NVIDIA's driver (uvm_gpu_access_counters.c): outbound (MIMC); inbound (MOMC) reached the driver "
        "on Volta only, where it counted accesses of CPUs and non-peer GPUs together");
    t.bytes("granularity", granularity, {ByteSize{64 << 10}, ByteSize{std::uint64_t{16} << 30}},
            "Region that has a counter: 64KiB, 2MiB, 16MiB or 16GiB",
            "NVIDIA's driver (uvm_gpu_access_counters.c): 2 MiB; 64 KiB at reset (tu102/dev_vm.h)");
    t.count("threshold", threshold, {1, 65'535}, "Accesses at which a region notifies the driver",
            "NVIDIA's driver (uvm_gpu_access_counters.c): 256; 128 at reset (tu102/dev_vm.h)");
    t.count("counters", counters, {0, 1 << 20},
            "Maximum regions that a GPU counts at a time, over all peers. A further region takes the least "
            "recently used counter, whose count is lost. 0: unlimited",
            "assumed: not public; Intel's driver (i915, prelim_drm_i915_gem_context_param_acc) states that "
            "counters are de-allocated at the capacity of the hardware");
    t.count(
        "notifications", notifications, {1, 1 << 20},
        "Notification-buffer entries. A notification that finds the buffer full is dropped, and its region "
        "is not reported any more",
        "NVIDIA GB100 (gb100/dev_vm.h): 4096; the loss is assumed to be final");
    t.count("notification_bytes", notification_bytes, {0, 1024},
            "Payload bytes of a notification packet (one notification-buffer entry)",
            "NVIDIA, clc365.h: 32 bytes per entry");
  }
  CounterRegions regions() const { return {static_cast<unsigned>(std::countr_zero(granularity.bytes))}; }
};

class AccessCounters {
 public:
  static constexpr std::uint32_t kLargestCount = 65'535;  // uvm_hal_types.h: "2^16 - 1 on Turing"

  struct Notification {
    std::uint64_t first = 0;  // first byte of the region
    std::uint32_t sub_regions = 0;
    std::uint16_t count = 0;
  };
  struct Counts {
    std::uint64_t regions = 0;  // with a count above 0
    std::uint64_t notifications = 0;
    std::uint64_t dropped = 0;  // notifications
    std::uint64_t cleared = 0;
  };

  AccessCounters() = default;
  AccessCounters(AccessCounterParams const& params, std::size_t peers);

  // Accesses of a train, all in the sub-region of its first byte.
  std::optional<Notification> count(std::uint32_t peer, std::uint64_t offset, std::uint32_t accesses);
  void read(std::uint32_t notifications);
  void clear(std::uint32_t peer, std::uint64_t offset);

  std::uint32_t count_of(std::uint32_t peer, std::uint64_t offset) const;
  std::uint64_t unread() const { return unread_; }
  Counts const& counts() const { return counts_; }
  std::uint64_t dropped_counters() const { return table_.dropped(); }

  auto members() { return std::tie(bits_, threshold_, capacity_, unread_, counters_, counts_, table_); }

 private:
  struct Counter {
    std::uint32_t sub_regions = 0;
    std::uint16_t count = 0;
    std::uint16_t has_notified = 0;
  };
  CounterRegions regions() const { return {static_cast<unsigned>(bits_)}; }
  void reset(Counter& counter) {
    if (counter.count != 0) --counts_.regions;
    counter = {};
  }

  std::uint64_t bits_ = 0;
  std::uint64_t threshold_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint64_t unread_ = 0;                    // entries of the notification buffer in use
  std::vector<std::vector<Counter>> counters_;  // by peer and region; up to the last one accessed
  Counts counts_;
  CounterTable table_;
};

}  // namespace farfault
