// SPDX-License-Identifier: Apache-2.0
// Places a workload's buffers in its virtual address space.
//
// - Order: buffers have ascending addresses in the order of add(), from the BuildContext's first address on
//   (kFirstAddress, or after the buffers of other workloads in the same address space).
// - Alignment: 2 MiB. No two buffers share a page of up to 2 MiB, as with an allocator of 2 MiB granularity,
//   which matters to large-page policies.
// - Small buffers: buffers below a size may have a separate segment, as in glibc's malloc (small blocks in
//   the heap, large blocks far above).
// - Limits: addresses stay below 2^47, the user half of a 48-bit address space. Sizes are in bytes.
// - Errors: add() throws UserError when the address space or the segment of small buffers is exhausted.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/engine/units.hpp"
#include "farfault/protocols/workload.hpp"

namespace farfault::workloads {

inline constexpr VirtAddr kFirstAddress = 0x1'0000'0000;
inline constexpr std::uint64_t kBufferAlignment = 2ULL << 20;
inline constexpr VirtAddr kAddressLimit = 1ULL << 47;
inline constexpr VirtAddr kFirstSmallAddress = 0x4000'0000;  // up to kFirstAddress

// Addresses of the next buffers; multiples of kBufferAlignment.
struct BufferSegments {
  VirtAddr next = kFirstAddress;
  VirtAddr next_small = kFirstSmallAddress;  // for buffers smaller than small_below
  std::uint64_t small_below = 0;
};

class BufferLayout {
 public:
  explicit BufferLayout(BufferSegments const& segments) : segments_(segments) {}

  // Adds a buffer whose contents the host writes before the first kernel.
  VirtAddr add(std::string name, std::uint64_t bytes) { return lay(std::move(name), bytes, true); }
  // Adds a buffer that kernels write before they read it.
  VirtAddr add_result(std::string name, std::uint64_t bytes) { return lay(std::move(name), bytes, false); }

  std::vector<Buffer> take() { return std::move(buffers_); }

 private:
  VirtAddr lay(std::string name, std::uint64_t bytes, bool host_written) {
    bool const is_small = bytes < segments_.small_below;
    auto& next = is_small ? segments_.next_small : segments_.next;
    auto const limit = is_small ? kFirstAddress : kAddressLimit;
    if (next > limit || bytes > limit - next)
      throw UserError("buffer '" + name + "' of " + to_text(ByteSize{bytes}) + " does not fit: " +
                      (is_small ? "the segment of small buffers is 3 GiB, and each buffer takes a multiple "
                                  "of 2 MiB; lower small_buffers"
                                : "buffers must be below address 2^47 (128 TiB); make them smaller"));
    auto const base = next;
    next += (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    buffers_.push_back({std::move(name), base, bytes, host_written});
    return base;
  }

  BufferSegments segments_;
  std::vector<Buffer> buffers_;
};

}  // namespace farfault::workloads
