// What a machine runs: kernels as streams of warp instructions.
//
// A kernel is a pure function (block, warp, step) -> instruction: it may be called for any step, in any order
// and any number of times, from any thread, and returns the same. It holds no state that changes while a run
// is on, so that a cursor (one step number a warp) is all that a checkpoint or a rank needs. The addresses
// are those of the real algorithm on the real data. Units: addresses and sizes in bytes, compute in core
// cycles.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace farfault {

using VirtAddr = std::uint64_t;

inline constexpr std::uint32_t kMaxLanes = 64;

enum class Op : std::uint8_t {
  compute,  // occupies the warp for `cycles`
  load,     // lane addresses; does not block the warp by itself
  store,    // lane addresses; never waits for a response
  barrier,  // waits for all warps of the block
  end,      // the warp is done; every later step is `end` too
};

struct WarpInstruction {
  Op op = Op::end;
  bool wait_loads = false;           // issues only when all earlier loads of this warp have returned
  std::uint16_t bytes_per_lane = 0;  // of a load or store
  std::uint32_t cycles = 0;          // of compute; at least 1
  std::uint64_t lanes = 0;           // bit i: lane i is active; only those addresses are meaningful
  std::array<VirtAddr, kMaxLanes> address;
};

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
