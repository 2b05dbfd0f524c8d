// SPDX-License-Identifier: Apache-2.0
// What a machine runs: kernels as streams of warp instructions.
//
// A kernel is a pure function (block, warp, step) -> instruction: it may be called for any step, in any order
// and any number of times, from any thread, and returns the same. It holds no state that changes while a run
// is on, so that a cursor (one step number a warp) is all that a checkpoint or a rank needs. The addresses
// are those of the real algorithm on the real data. Units: addresses and sizes in bytes, work in instructions
// of a whole warp.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace farfault {

// Addresses have 48 bits; the bits above name the address space. A page number, which is an address divided
// by the page size, names it too. A workload knows space 0 alone.
using VirtAddr = std::uint64_t;

inline constexpr unsigned kVirtualBits = 48;
inline constexpr std::uint32_t kAddressSpaces = 128;  // bit 63 is that of kernels' arguments

constexpr VirtAddr first_address_of(std::uint32_t space) {
  return VirtAddr{space} << kVirtualBits;
}
// Of a page of 2^page_bits bytes.
constexpr std::uint32_t space_of_page(std::uint64_t page, unsigned page_bits) {
  return static_cast<std::uint32_t>(page >> (kVirtualBits - page_bits));
}
// The page's number within its space.
constexpr std::uint64_t page_in_space(std::uint64_t page, unsigned page_bits) {
  return page & ((std::uint64_t{1} << (kVirtualBits - page_bits)) - 1);
}

inline constexpr std::uint32_t kMaxLanes = 64;

enum class Op : std::uint8_t {
  compute,      // executes `work`
  load,         // lane addresses; does not block the warp by itself
  store,        // lane addresses; never waits for a response
  scalar_load,  // one address for the whole warp, through the scalar cache; does not block the warp by itself
  barrier,      // waits for all warps of the block
  end,          // the warp is done; every later step is `end` too
};

// The instructions that a warp executes between two accesses to memory, each depending on the one before, by
// the unit that executes them. How long they take is the machine's affair; nothing at all takes a cycle.
struct Work {
  std::uint32_t vector = 0;   // arithmetic of all lanes
  std::uint32_t special = 0;  // vector instructions at the lower rate of reciprocals, roots, sines, and of
                              // multiplications of 32-bit integers, on all machines: counts are GCN's
  std::uint32_t scalar = 0;   // one result for the whole warp: loop counts, base addresses, branches
  std::uint32_t shared = 0;   // accesses to shared memory (LDS), each of
  std::uint32_t shared_bytes_per_lane = 4;

  std::uint32_t instructions() const { return vector + special + scalar + shared; }
};

struct WarpInstruction {
  Op op = Op::end;
  bool wait_loads = false;           // issues only when all earlier loads of this warp have returned
  std::uint16_t bytes_per_lane = 0;  // of a load or store; of a scalar load, all its bytes, within a line
  Work work;                         // of compute; of a scalar load, `scalar` counts its instructions
  std::uint64_t lanes = 0;           // bit i: lane i is active; only those addresses are meaningful
  std::array<VirtAddr, kMaxLanes> address;
};

// Addresses from here on are the arguments of the kernel that runs, which its launch has put into the memory
// of each GPU: only scalar loads read them. Kernels take the blocks of a ring of argument memory in turn, so
// that a kernel does not find those of the one before it in a cache (64 bytes each: the largest argument
// block of the workloads; a ring of 1,024: assumed, more than any workload has kernels under way).
inline constexpr VirtAddr kKernelArguments = VirtAddr{1} << 63;
inline constexpr std::uint64_t kArgumentBlock = 64;
inline constexpr std::uint64_t kArgumentBlocks = 1024;

struct KernelShape {
  std::string name;
  std::uint64_t blocks = 1;
  std::uint32_t threads_per_block = 1;
  std::uint32_t registers_per_thread = 32;
  std::uint64_t shared_bytes_per_block = 0;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual KernelShape const& shape() const = 0;
  // Fills `out` for step `step` of warp `warp` (of warps_per_block(width)) of block `block`. Fields that an
  // op does not use are left as they were.
  virtual void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                           WarpInstruction& out) const = 0;
};

}  // namespace farfault
