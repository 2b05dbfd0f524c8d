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

CodeLayout::CodeLayout(Applications const& applications, std::uint32_t gpus, CodeParams const& params,
                       std::uint64_t largest_page) {
  spaces_.resize(applications.spaces());
  for (auto const& application : applications)
    for (auto const& buffer : application.workload->buffers()) {
      auto& first = spaces_[application.space].first;
      first = std::max(first, rounded_up(buffer.base + buffer.bytes, largest_page));
    }
  for (std::uint32_t k = 0; k < applications.kernels(); ++k) {
    auto const& program = applications.launchable(k);
    auto const& shape = program.kernel->shape();
    if (shape.code_bytes == ~0U)
      throw UserError("gpu.instruction_cache.size above 0: the instructions of kernel '" + shape.name +
                      "' are more than 4 GiB apart");
    auto& space = spaces_[program.space];
    Code code{.first = program.first_address + space.first + space.bytes,
              .bytes = static_cast<std::uint32_t>(params.kernel.bytes),
              .instruction_bytes = static_cast<std::uint16_t>(params.instruction_bytes),
              .repeats = 1};
    if (shape.code_bytes != 0) {
      code.bytes = shape.code_bytes;
      code.instruction_bytes = static_cast<std::uint16_t>(shape.instruction_bytes);
      code.repeats = 0;
    }
    kernels_.push_back(code);
    auto const bytes = std::uint64_t{code.bytes};
    space.bytes += rounded_up(bytes, kKernelAlignment);
  }
  for (auto const& space : spaces_) stride_ = std::max(stride_, rounded_up(space.bytes, largest_page));
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
