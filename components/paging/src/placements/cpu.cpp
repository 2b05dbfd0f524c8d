#include "farfault/paging/initial_memory.hpp"
#include "farfault/paging/page_placement.hpp"

namespace farfault::placements {
namespace {

struct OnCpu final : PagePlacement {
  void place(InitialMemory& memory) const override {
    for (auto const& b : memory.buffers())
      for (auto page = b.first; page < b.first + b.count; ++page)
        if (!memory.place(page, kFirstCpu))
          throw UserError("workload '" + memory.workload().name() +
                          "' needs more than the CPU's memory, where memory.placement = cpu puts it all "
                          "(cpu.dram.capacity)");
  }
};

}  // namespace

void cpu(PolicyList<PagePlacement>& list) {
  list.add<OnCpu>("cpu", "in the CPU's memory");
}

}  // namespace farfault::placements
