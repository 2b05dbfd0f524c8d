// SPDX-License-Identifier: Apache-2.0
// The specification of an SM: its parameters, and its place in the GPU.
#pragma once

#include <cstdint>

#include "farfault/compute/code_layout.hpp"
#include "farfault/compute/execution_units.hpp"
#include "farfault/compute/sm_params.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/engine/time.hpp"
#include "farfault/parts/address_map.hpp"
#include "farfault/parts/page_uses.hpp"
#include "farfault/parts/partition_hop.hpp"
#include "farfault/protocols/applications.hpp"
#include "farfault/protocols/messages.hpp"
#include "farfault/translation/page_table.hpp"
#include "farfault/translation/tlb_banks.hpp"

namespace farfault {

// How an SM fetches instructions.
struct FetchSpec {
  CodeLayout const* code = nullptr;  // null: instructions need no fetch
  std::uint32_t gpu = 0;             // among the GPUs of the layout
  std::uint32_t lines = 4;           // of a warp, requested ahead
  std::uint16_t index = 0;           // among the SMs of its instruction cache
};

struct SmSpec {
  SmParams sm;
  L1TlbParams l1_tlb;
  L1CacheParams l1_cache;
  Clock clock{1'000'000'000};
  std::uint32_t index = 0;
  DeviceId device = 0;
  std::uint32_t warp_width = 64;
  std::uint32_t line_bytes = 64;
  unsigned page_bits = 12;
  std::uint32_t page_sizes = 1;                // bit s: there may be pages of 2^s base pages
  PageTable const* mapped_at_start = nullptr;  // its TLB may hold translations of it
  std::uint32_t slices = 1;
  AddressMap memory;
  PartitionHop to_slices{};
  TlbRoute tlbs{};
  std::uint32_t local_train = 1;       // maximum lines per message to this GPU's memory
  std::uint32_t remote_train = 1;      // and to other devices' memories
  std::uint32_t train_block = 64;      // bytes: a power of two; a train stays within a block of this size
  std::uint32_t moves = 1;             // maximum outstanding invalidations
  std::uint16_t scalar_index = 0;      // among the SMs of its scalar cache
  std::uint32_t scalar_requests = 32;  // maximum outstanding there
  PageUseRule page_uses;               // page uses reported to the driver
  PhysAddr contexts = 0;               // address of saved contexts: areas of area_bytes()
  Applications const* applications = nullptr;
  bool may_stall = false;              // the driver may stop the GPU
  bool reports_stalled_warps = false;  // to the L2 TLB
  FetchSpec fetch;
  bool fetches() const { return fetch.code != nullptr; }

  // The context of a whole SM, the maximum of a block, in whole pages of 4 KiB.
  static std::uint64_t area_bytes(SmParams const& sm) {
    auto const bytes = sm.registers * std::uint64_t{4} + sm.shared_bytes +
                       std::uint64_t{sm.max_warps} * sm.thread_blocks.facts().context.warp_bytes;
    return (bytes + 4095) / 4096 * 4096;
  }
  // Number of warp contexts, including blocks outside the slots.
  static std::uint32_t warp_contexts(SmParams const& sm) {
    return sm.max_warps * (1 + sm.thread_blocks.facts().max_extra);
  }
  // Number of areas per SM: one per block that may wait, and one for a block being swapped out.
  static std::uint32_t areas(SmParams const& sm) {
    auto const blocks = sm.thread_blocks.facts();
    return blocks.swap_trigger != ThreadBlocks::SwapTrigger::none ? blocks.max_extra + 1 : 0;
  }
  // True if blocks may be swapped out.
  bool swaps_blocks() const { return areas(sm) != 0; }

  ExecutionRates rates() const {
    return {.simds = sm.simds,
            .vector_cycles = (warp_width + sm.simd_lanes - 1) / sm.simd_lanes,
            .special_cycles = (warp_width + sm.special_lanes - 1) / sm.special_lanes,
            .scalar_rate = sm.scalar_rate,
            .shared_bytes_per_cycle = sm.shared_bytes_per_cycle,
            .dependent_latency = sm.dependent_latency,
            .shared_latency = sm.shared_latency,
            .warp_width = warp_width,
            .single_issue = sm.issue == IssueRule::one};
  }
};

}  // namespace farfault
