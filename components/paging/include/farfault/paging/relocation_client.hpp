// SPDX-License-Identifier: Apache-2.0
// Moves of pages within a GPU's memory.
//
// - Compaction: a page would begin a large frame, and none is free. If the compaction policy and the frame
//   allocator can empty one (compaction.hpp), the page waits until the pages of that frame have been moved.
// - Coalescing: all base pages of a large page are on the GPU, and they are moved to one large frame
//   (page_sizes.hpp); one large page at a time per GPU.
// - Pre-fragmented data has no page and is only copied.
// - With `stalls_gpus`, no SM of the GPU issues from start to end.
// - A page that has left its frame, or is in flight, at its turn is skipped.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "farfault/paging/driver_turn.hpp"

namespace farfault {

// Pages moved together within a GPU's memory.
struct Relocation {
  std::vector<FrameAllocator::Move> moves;  // not started from `next` on
  std::uint64_t next = 0;
  std::uint64_t left = 0;  // not completed; 0: no relocation in progress
  std::uint64_t moved = 0;
  std::uint64_t application = 0;  // application that needs the frame
  std::uint64_t coalesces = 0;    // purpose: coalescing; otherwise compaction
  std::uint64_t stalls = 0;       // stalls the GPU's SMs
  Time began{};
  Time memory_free{};  // end of the last copy within the memory
  auto members() {
    return std::tie(moves, next, left, moved, application, coalesces, stalls, began, memory_free);
  }
};

class RelocationClient {
 public:
  RelocationClient() = default;
  explicit RelocationClient(PagingDriverSpec const& spec)
      : compaction_(spec.compaction.make({})), of_gpu_(spec.relocates() ? spec.devices.gpus() : 0) {}

  // The page waits for a large frame of the device, which starts to be emptied.
  bool awaits_large_frame(std::uint64_t page, DeviceId device, std::uint32_t application, DriverTurn& t);
  // Starts as many moves as possible.
  void start_moves(DriverTurn& t);
  // Copies the page within the memory, unless a copy engine has to.
  bool copies_in_memory(std::uint32_t number, DriverTurn& t);
  void ended(PageInFlight const& done, DriverTurn& t);

  bool works_on(std::uint64_t gpu) const { return gpu < of_gpu_.size() && of_gpu_[gpu].left != 0; }
  std::vector<Relocation> const& of_gpu() const { return of_gpu_; }
  StatSource const& statistics() const { return compaction_; }

  auto members() { return std::tie(compaction_, of_gpu_); }

 private:
  // True: the large page no longer waits.
  bool begin_coalescing(std::uint64_t page, DriverTurn& t);
  void begin(std::uint32_t gpu, bool coalesces, std::uint32_t application, DriverTurn& t);
  void begin_page(std::uint32_t gpu, FrameAllocator::Move const& m, DriverTurn& t);
  void end(std::uint32_t gpu, DriverTurn& t);

  Policy<Compaction> compaction_;
  std::vector<Relocation> of_gpu_;
};

}  // namespace farfault
