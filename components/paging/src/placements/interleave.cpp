// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/application_memory.hpp"
#include "farfault/paging/page_placement.hpp"

namespace farfault::placements {
namespace {

struct Interleave final : PagePlacement {
  void place(ApplicationMemory& memory) const override {
    memory.each_page([&](PageRange const&, std::uint64_t page, unsigned size) {
      if (!memory.place_near(page,
                             static_cast<std::uint32_t>((memory.in_space(page) >> size) % memory.gpus())))
        throw UserError("workload '" + memory.workload().name() +
                        "' does not fit in memory: no free frame is left; increase gpu.dram.capacity or "
                        "cpu.dram.capacity");
    });
  }
};

}  // namespace

void interleave(PolicyList<PagePlacement>& list) {
  list.add<Interleave>("interleave", "GPUs round-robin");
}

}  // namespace farfault::placements
