// SPDX-License-Identifier: Apache-2.0
// Kernels as streams of warp instructions.
//
// - A kernel is a pure function (block, warp, step) -> instruction. It may be called for any step, in any
//   order, any number of times and from any thread, and always returns the same instruction.
// - A kernel holds no mutable state: a cursor (one step number per warp) is all that a checkpoint or a rank
//   needs.
// - Addresses come from the real algorithm on the real data.
// - Units: addresses and sizes in bytes; work in instructions of a whole warp.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace farfault {

// Addresses have 48 bits; the upper bits name the address space. A page number is an address divided by the
// page size, so it names the space as well. Workloads use space 0 only.
using VirtAddr = std::uint64_t;

inline constexpr unsigned kVirtualBits = 48;
inline constexpr std::uint32_t kAddressSpaces = 128;  // bit 63 marks kernel arguments

constexpr VirtAddr first_address_of(std::uint32_t space) {
  return VirtAddr{space} << kVirtualBits;
}
// A page has 2^page_bits bytes.
constexpr std::uint32_t space_of_page(std::uint64_t page, unsigned page_bits) {
  return static_cast<std::uint32_t>(page >> (kVirtualBits - page_bits));
}
// Page number within its address space.
constexpr std::uint64_t page_in_space(std::uint64_t page, unsigned page_bits) {
  return page & ((std::uint64_t{1} << (kVirtualBits - page_bits)) - 1);
}

inline constexpr std::uint32_t kMaxLanes = 64;

enum class Op : std::uint8_t {
  compute,      // executes `work`
  load,         // lane addresses; does not block the warp
  store,        // lane addresses; never waits for a response
  scalar_load,  // one address for the whole warp, through the scalar cache; does not block the warp
  barrier,      // waits for all warps of the block
  end,          // the warp is done; every later step is `end` as well
};

// Instructions that a warp executes between two memory accesses, each dependent on the previous one, counted
// per execution unit. The machine determines their latency; empty work takes one cycle.
struct Work {
  std::uint32_t vector = 0;   // arithmetic of all lanes
  std::uint32_t special = 0;  // vector instructions at the lower rate: reciprocals, roots, sines, 32-bit
                              // integer multiplications; GCN's counts on all machines
  std::uint32_t scalar = 0;   // one result for the whole warp: loop counts, base addresses, branches
  std::uint32_t shared = 0;   // accesses to shared memory (LDS)
  std::uint32_t shared_bytes_per_lane = 4;

  std::uint32_t instructions() const { return vector + special + scalar + shared; }
};

struct WarpInstruction {
  Op op = Op::end;
  bool wait_loads = false;           // issues only after all earlier loads of this warp have returned
  std::uint16_t bytes_per_lane = 0;  // load or store; scalar load: its total size, within one line
  Work work;                         // compute; scalar load: `scalar` counts its instructions
  std::uint64_t lanes = 0;           // bit i: lane i is active; other lanes' addresses are undefined
  std::uint32_t offset = 0;          // in the kernel's code, if its shape states the size of the code
  std::array<VirtAddr, kMaxLanes> address;
};

// Addresses from here on are kernel arguments, which a launch writes to the memory of each GPU. Only scalar
// loads read them. Kernels use the blocks of a ring of argument memory in launch order, so that a kernel does
// not hit lines that the previous kernel cached. 64 bytes: the largest argument block of the workloads. 1,024
// blocks: assumed; more than any workload has kernels in flight.
inline constexpr VirtAddr kKernelArguments = VirtAddr{1} << 63;
inline constexpr std::uint64_t kArgumentBlock = 64;
inline constexpr std::uint64_t kArgumentBlocks = 1024;

struct KernelShape {
  std::string name;
  std::uint64_t blocks = 1;
  std::uint32_t threads_per_block = 1;
  std::uint32_t registers_per_thread = 32;
  std::uint64_t shared_bytes_per_block = 0;
  // 0: unknown. Otherwise each instruction states its offset, below this. The maximum: more than 4 GiB.
  std::uint32_t code_bytes = 0;
  std::uint32_t instruction_bytes = 8;  // if the size of the code is known
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual KernelShape const& shape() const = 0;
  // Fills `out` for step `step` of warp `warp` (of warps_per_block(width)) of block `block`. Fields that the
  // op does not use keep their values.
  virtual void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                           WarpInstruction& out) const = 0;
};

}  // namespace farfault
