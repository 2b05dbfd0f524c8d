// SPDX-License-Identifier: Apache-2.0
// Yoon et al., "Virtual Thread: Maximizing Thread-Level Parallelism beyond GPU Scheduling Limit", ISCA 2016.
//
// An SM holds the blocks that its registers and shared memory have room for, regardless of the limits on
// warps, threads and blocks. Registers stay in place; the state of warps is swapped through shared memory.
#include "farfault/compute/thread_blocks.hpp"

namespace farfault::thread_blocks {
namespace {

class VirtualThread final : public ThreadBlocks {
 public:
  struct Params {
    std::uint32_t blocks = kMaxExtra;
    std::uint32_t warp_bytes = 80;
    void describe(ParamTable& t) {
      t.count("blocks", blocks, {1, kMaxExtra},
              "Maximum extra blocks of an SM, in addition to issuing blocks",
              "assumed: the limit of the model");
      t.count("warp_bytes", warp_bytes, {0, 4096},
              "Bytes of a warp's state saved and restored in addition to its registers",
              "Batch-aware unified memory (ASPLOS 2020), footnote 5: 5 KB for 64 warps");
    }
  };
  static constexpr Facts facts(Params const& p) {
    return {.swap_trigger = SwapTrigger::accesses,
            .max_extra = p.blocks,
            .first_extra = p.blocks,
            .context = {.saved_in = SavedIn::shared_memory, .warp_bytes = p.warp_bytes}};
  }

  explicit VirtualThread(Params const& p) : blocks_(p.blocks) {}

  bool takes(std::uint32_t held, bool has_capacity) const override { return has_capacity && held < blocks_; }
  std::uint32_t extra() const override { return static_cast<std::uint32_t>(blocks_); }

  auto members() { return std::tie(blocks_); }

 private:
  std::uint64_t blocks_;
};

}  // namespace

void virtual_thread(PolicyList<ThreadBlocks>& list) {
  list.add<VirtualThread>("virtual_thread",
                          "as many blocks as registers and shared memory hold, swapped in for blocks stalled "
                          "on memory accesses (Virtual Thread, ISCA 2016)");
}

}  // namespace farfault::thread_blocks
