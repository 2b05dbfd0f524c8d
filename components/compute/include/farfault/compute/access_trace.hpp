// SPDX-License-Identifier: Apache-2.0
// The trace of one transaction of an SM, from its issue to its data or acknowledgement: consecutive spans of
// time without gaps, each in one stage of the latency stack (sm_stats.hpp), at one place.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "farfault/engine/event.hpp"
#include "farfault/engine/time.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

// In the order of AccessStages (sm_stats.hpp).
enum class Stage : std::uint8_t {
  load_store,
  l1_tlb,
  l2_tlb,
  walk_queue,
  walk,
  iommu,
  fault,
  l1_cache,
  l2_cache,
  dram_queue,
  dram,
  links,
  remote_memory,
};
// As in the names of the statistics time_in_NAME.
inline constexpr std::array<std::string_view, 13> kStageNames = {
    "load_store", "l1_tlb",   "l2_tlb",     "walk_queue", "walk",  "iommu",        "fault",
    "l1_cache",   "l2_cache", "dram_queue", "dram",       "links", "remote_memory"};

// The owner of a span's time: the SM; on its own device, the L2 TLB, the GMMU, the port to the links, the L2
// slice or the DRAM channel of the address; its IOMMU; or the device that owns the memory.
enum class Place : std::uint8_t { sm, l2_tlb, gmmu, port, l2_slice, dram, iommu, remote };

struct StageSpan {
  Time from;
  Time to;
  Stage stage = Stage::load_store;
  Place place = Place::sm;
  std::uint8_t unused[6] = {};
};

// The source of the translation, and of the data.
enum class Served : std::uint8_t { unknown, l1, l2, memory, gmmu, iommu, fault };

struct AccessTrace {
  ComponentId sm = 0;
  std::uint32_t number = 0;  // among the traced transactions of its SM
  Time issued{};
  Time ended{};
  VirtAddr address = 0;          // with its address space
  PhysAddr physical = kNoFrame;  // unknown for lines that hit in the L1 cache
  std::uint64_t block = 0;
  std::uint64_t step = 0;  // number of the instruction in its warp
  std::uint32_t kernel = 0;
  std::uint32_t warp = 0;  // in its block
  std::uint8_t application = 0;
  std::uint8_t space = 0;
  std::uint8_t bytes = 0;
  Access access = Access::read;
  Served translation = Served::unknown;
  Served data = Served::unknown;
  std::uint8_t unfinished = 0;  // the run ended before the transaction
  std::uint8_t unused = 0;
  std::vector<StageSpan> spans;

  auto members() {
    return std::tie(sm, number, issued, ended, address, physical, block, step, kernel, warp, application,
                    space, bytes, access, translation, data, unfinished, unused, spans);
  }
};

}  // namespace farfault
