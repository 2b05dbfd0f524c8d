// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/application_memory.hpp"
#include "farfault/paging/page_placement.hpp"

namespace farfault::placements {
namespace {

struct Contiguous final : PagePlacement {
  void place(ApplicationMemory& memory) const override {
    memory.each_page([&](PageRange const& buffer, std::uint64_t page, unsigned) {
      auto const part = (page - buffer.first) * memory.gpus() / buffer.count;
      if (!memory.place_near(page, static_cast<std::uint32_t>(part)))
        throw UserError("workload '" + memory.workload().name() +
                        "' does not fit in memory: no free frame is left; increase gpu.dram.capacity or "
                        "cpu.dram.capacity");
    });
  }
};

}  // namespace

void contiguous(PolicyList<PagePlacement>& list) {
  list.add<Contiguous>("contiguous", "each buffer in equal contiguous parts, one per GPU");
}

}  // namespace farfault::placements
