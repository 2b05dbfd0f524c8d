// SPDX-License-Identifier: Apache-2.0
// The code of kernels in the memory of GPUs, if SMs fetch instructions.
#include <algorithm>

#include "assembly_devices.hpp"

namespace farfault::topologies {

void Assembly::plan_code() {
  auto const params = config_.code();
  if (!params) return;
  std::size_t gpus = 0;
  for (auto const& instance : instances_) gpus = std::max(gpus, instance->gpus.size());
  auto const& memory = config_.memory;
  code_.emplace(applications_, static_cast<std::uint32_t>(gpus), *params,
                std::max(memory.large_page_size.bytes, memory.page_size.bytes));
  // It begins with a page, below the arguments of kernels and the contexts of SMs.
  auto const bytes = code_->pages(page_bits_) << page_bits_;
  auto const page_bytes = std::uint64_t{1} << page_bits_;
  auto const others = kArgumentBlock * kArgumentBlocks + bytes_of_contexts() + page_bytes;
  auto const room = room_for_contexts() - std::min(room_for_contexts(), others);
  if (bytes > room)
    throw UserError(
        "gpu.instruction_cache.size above 0: the code of all kernels takes " + to_text(ByteSize{bytes}) +
        " of a GPU's memory in pages of memory.page_size, but at most " + to_text(ByteSize{room}) +
        ", 1/16 of gpu.dram.capacity without arguments of kernels and contexts of thread blocks, is reserved "
        "for it; increase gpu.dram.capacity");
}

void Assembly::map_code(InitialMemory& memory, std::uint32_t gpu) const {
  auto const page_bytes = std::uint64_t{1} << page_bits_;
  auto const end = config_.dram.capacity.bytes - kArgumentBlock * kArgumentBlocks - bytes_of_contexts();
  auto offset = (end - (code_->pages(page_bits_) << page_bits_)) & ~(page_bytes - 1);
  for (auto const& copy : code_->copies_for(gpu))
    for (auto at = copy.first; at < copy.first + copy.bytes; at += page_bytes, offset += page_bytes)
      memory.map_fixed(at >> page_bits_, gpu, offset);
}

FetchSpec Assembly::fetch_of(Gpu const& gpu, ReadOnlyCacheKind const& cache, std::uint32_t sm) const {
  auto const params = config_.code().value();
  return {.code = &*code_,
          .gpu = gpu.number,
          .lines = params.lines_ahead,
          .index = static_cast<std::uint16_t>(sm % cache.params.sms)};
}

}  // namespace farfault::topologies
