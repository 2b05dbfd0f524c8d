// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/application_memory.hpp"
#include "farfault/paging/page_placement.hpp"

namespace farfault::placements {
namespace {

struct OnCpu final : PagePlacement {
  void place(ApplicationMemory& memory) const override {
    memory.each_page([&](PageRange const&, std::uint64_t page, unsigned) {
      if (!memory.place(page, kFirstCpu))
        throw UserError("workload '" + memory.workload().name() +
                        "' does not fit in CPU memory, where memory.placement = cpu places all pages; "
                        "increase cpu.dram.capacity or choose another memory.placement");
    });
  }
};

}  // namespace

void cpu(PolicyList<PagePlacement>& list) {
  list.add<OnCpu>("cpu", "CPU memory");
}

}  // namespace farfault::placements
