// SPDX-License-Identifier: Apache-2.0
// SASS traces of Accel-Sim's NVBit tracer as workloads.
//
// A trace is a kernel list (kernelslist.g, or the folder that holds one) with a post-processed trace file a
// kernel (kernel-N.traceg), or one such file alone; each may be gzip or xz. The text is read once, as a
// stream, into a compact form of 24 bytes for each memory instruction or stretch of other instructions (and 8
// bytes for each address that does not follow a stride), from which any step of any warp is answered
// directly.
//
// What becomes of an instruction: loads and stores of global and generic addresses keep their lanes and
// addresses; an atomic with a result (ATOM, ATOMG) is a load, one without (RED) a store; a block barrier
// (BAR.SYNC) is a barrier; each other one, shared-, local- and constant-memory accesses included, is a
// vector instruction, in one group with its neighbours of that kind. An instruction waits for earlier loads
// when it uses a register that one of them has yet to fill. Blocks that the tracer left out do not exist;
// warps that it left out end at once. Warps have 32 lanes.
//
// The workload's buffers are the regions that its accesses and host copies touch, in units of 64 KiB.
// Errors: UserError with file, line, value and rule.
#pragma once

#include <cstdint>
#include <string>

#include "farfault/workloads/registry.hpp"

namespace farfault::workloads {

struct TraceOptions {
  std::uint64_t max_instructions = 50'000'000;  // a trace that needs more of the compact form is refused
};

struct TraceSummary {
  std::string format = "accel-sim";
  std::uint64_t kernels = 0;
  std::uint64_t blocks = 0;
  std::uint64_t instructions = 0;         // warp instructions of any kind
  std::uint64_t memory_instructions = 0;  // of these, global and generic accesses with an active lane
};

Workload read_trace(std::string const& path, BuildContext const& context, TraceOptions const& options = {});
TraceSummary summarize_trace(std::string const& path, InputLimits const& limits = {});

}  // namespace farfault::workloads
