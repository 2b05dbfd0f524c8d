// SPDX-License-Identifier: Apache-2.0
#include "farfault/compute/code_layout.hpp"

#include <algorithm>
#include <string>

#include "farfault/engine/error.hpp"

namespace farfault {
namespace {

constexpr std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t to) {
  return (bytes + to - 1) / to * to;
}

}  // namespace

CodeLayout::CodeLayout(Applications const& applications, std::uint32_t gpus, std::uint32_t default_bytes) {
  spaces_.resize(applications.spaces());
  for (auto const& application : applications)
    for (auto const& buffer : application.workload->buffers()) {
      auto& first = spaces_[application.space].first;
      first = std::max(first, rounded_up(buffer.base + buffer.bytes, kCopyAlignment));
    }
  for (std::uint32_t k = 0; k < applications.kernels(); ++k) {
    auto const& program = applications.launchable(k);
    auto const stated = program.kernel->shape().code_bytes;
    auto& space = spaces_[program.space];
    auto const bytes = stated != 0 ? stated : default_bytes;
    kernels_.push_back({program.first_address + space.first + space.bytes, bytes, stated == 0 ? 1U : 0U});
    space.bytes += rounded_up(bytes, kKernelAlignment);
  }
  for (auto const& space : spaces_) stride_ = std::max(stride_, rounded_up(space.bytes, kCopyAlignment));
  for (std::uint32_t s = 0; s < spaces_.size(); ++s) {
    auto& space = spaces_[s];
    if (space.first + gpus * stride_ > first_address_of(1))
      throw UserError("gpu.instruction_cache.size above 0: the code of " +
                      std::to_string(applications.kernels()) + " kernels for " + std::to_string(gpus) +
                      " GPUs follows the last buffer, but ends beyond the 48-bit address space");
    space.first += first_address_of(s);
  }
  std::erase_if(spaces_, [](Copy const& space) { return space.bytes == 0; });
}

std::vector<CodeLayout::Copy> CodeLayout::copies_for(std::uint32_t gpu) const {
  auto copies = spaces_;
  for (auto& copy : copies) copy.first += gpu * stride_;
  return copies;
}

std::uint64_t CodeLayout::pages(unsigned page_bits) const {
  std::uint64_t pages = 0;
  for (auto const& space : spaces_)
    pages += rounded_up(space.bytes, std::uint64_t{1} << page_bits) >> page_bits;
  return pages;
}

}  // namespace farfault
