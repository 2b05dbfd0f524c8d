// SPDX-License-Identifier: Apache-2.0
// SASS traces of Accel-Sim's NVBit tracer as workloads.
//
// - Input: a kernel list (kernelslist.g, or the folder that contains one) with one post-processed trace file
//   per kernel (kernel-N.traceg), or a single trace file; each plain, gzip or xz.
// - Memory: a compact form, in which any step of a warp is found directly: 24 bytes per memory instruction or
//   run of others, and 8 bytes per address that does not follow a stride.
// - Instructions: loads and stores of global and generic addresses keep their lanes and addresses. An atomic
//   with a result (ATOM, ATOMG) is a load, one without a result (RED) a store. A block barrier (BAR.SYNC) is
//   a barrier. All others are vector instructions, grouped with adjacent ones.
// - A user of a register of an outstanding load waits for all earlier loads.
// - Code: offsets are program counters, from the lowest one of the kernel; a group has that of its first
//   instruction. The size of instructions is the smallest distance of two that follow each other.
// - Omitted blocks do not exist; omitted warps end immediately. Warps have 32 lanes.
// - Buffers: the regions that accesses and host copies touch, in units of 64 KiB.
// - Errors: UserError with file, line, value and rule.
#pragma once

#include <cstdint>
#include <string>

#include "farfault/workloads/registry.hpp"

namespace farfault::workloads {

struct TraceOptions {
  std::uint64_t max_instructions = 50'000'000;  // limit of the compact form; a longer trace is an error
};

struct TraceSummary {
  std::string format = "accel-sim";
  std::uint64_t kernels = 0;
  std::uint64_t blocks = 0;
  std::uint64_t instructions = 0;         // warp instructions of all kinds
  std::uint64_t memory_instructions = 0;  // global and generic accesses among them with an active lane
};

Workload read_trace(std::string const& path, BuildContext const& context, TraceOptions const& options = {});
TraceSummary summarize_trace(std::string const& path, InputLimits const& limits = {});

}  // namespace farfault::workloads
