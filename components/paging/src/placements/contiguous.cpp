#include "farfault/paging/initial_memory.hpp"
#include "farfault/paging/page_placement.hpp"

namespace farfault::placements {
namespace {

struct Contiguous final : PagePlacement {
  void place(InitialMemory& memory) const override {
    for (auto const& b : memory.buffers())
      for (std::uint64_t p = 0; p < b.count; ++p)
        memory.place_near(b.first + p, static_cast<std::uint32_t>(p * memory.gpus() / b.count));
  }
};

}  // namespace

void contiguous(PolicyList<PagePlacement>& list) {
  list.add<Contiguous>("contiguous", "each buffer in equal contiguous parts");
}

}  // namespace farfault::placements
