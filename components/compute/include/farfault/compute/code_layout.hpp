// SPDX-License-Identifier: Apache-2.0
// The code of all kernels in virtual memory, if SMs fetch instructions.
//
// - Each GPU has its own copy of all code, in its own memory and at its own addresses, so that a page of code
//   has one frame. It is mapped before the first kernel, and does not move.
// - The copies for GPU 0, 1, ... follow the last buffer of their address space. A copy holds the kernels of
//   the space in their order; each begins at a multiple of 256 bytes (CUDA aligns functions by 128), and a
//   copy at a multiple of the largest page.
// - A kernel's size is that of its shape or, if it states none, the default.
// - Errors: UserError if the addresses of a space do not suffice, or if a kernel's code exceeds 4 GiB.
#pragma once

#include <cstdint>
#include <vector>

#include "farfault/compute/instruction_windows.hpp"
#include "farfault/engine/units.hpp"
#include "farfault/protocols/applications.hpp"

namespace farfault {

// How warps fetch code, and the size of a kernel's code that its shape does not state.
struct CodeParams {
  std::uint32_t lines_ahead = 4;
  std::uint32_t instruction_bytes = 8;
  ByteSize kernel{8192};
};

class CodeLayout {
 public:
  static constexpr std::uint64_t kKernelAlignment = 256;

  // `largest_page`: in bytes, a power of two.
  CodeLayout(Applications const& applications, std::uint32_t gpus, CodeParams const& params,
             std::uint64_t largest_page);

  // Code of a kernel, numbered over all applications, for a GPU.
  Code of(std::uint32_t kernel, std::uint32_t gpu) const {
    auto code = kernels_[kernel];
    code.first += gpu * stride_;
    return code;
  }

  // One copy in one address space, in virtual memory.
  struct Copy {
    VirtAddr first = 0;
    std::uint64_t bytes = 0;
  };
  // The copies for a GPU, of all address spaces with kernels.
  std::vector<Copy> copies_for(std::uint32_t gpu) const;
  // Base pages of the copies for a GPU.
  std::uint64_t pages(unsigned page_bits) const;

 private:
  std::vector<Code> kernels_;  // for GPU 0
  std::vector<Copy> spaces_;   // for GPU 0
  std::uint64_t stride_ = 0;   // from a GPU's copy to the next one's
};

}  // namespace farfault
