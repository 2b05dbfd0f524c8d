// SPDX-License-Identifier: Apache-2.0
// Where a workload's buffers lie in its virtual address space.
//
// Guarantees: buffers are laid out in the order of add() from a first address on (that of the BuildContext:
// kFirstAddress, or behind the buffers of others in the same address space), each aligned to 2 MiB, so that
// no two share a page of up to 2 MiB and a large-page policy sees what an allocator with 2 MiB granularity
// gives. Addresses stay below 2^47, the user half of a 48-bit address space. Sizes in bytes.
// Errors: add() throws UserError when the address space is used up.
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

class BufferLayout {
 public:
  // `first`: a multiple of kBufferAlignment.
  explicit BufferLayout(VirtAddr first) : next_(first) {}

  // A buffer whose contents the host writes before the first kernel.
  VirtAddr add(std::string name, std::uint64_t bytes) { return lay(std::move(name), bytes, true); }
  // One that kernels write before they read it.
  VirtAddr add_result(std::string name, std::uint64_t bytes) { return lay(std::move(name), bytes, false); }

  std::vector<Buffer> take() { return std::move(buffers_); }

 private:
  VirtAddr lay(std::string name, std::uint64_t bytes, bool host_written) {
    if (next_ > kAddressLimit || bytes > kAddressLimit - next_)
      throw UserError("buffer '" + name + "' of " + to_text(ByteSize{bytes}) +
                      " does not fit: a workload's buffers must lie below address 2^47");
    auto const base = next_;
    next_ += (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    buffers_.push_back({std::move(name), base, bytes, host_written});
    return base;
  }

  VirtAddr next_;
  std::vector<Buffer> buffers_;
};

}  // namespace farfault::workloads
