// SPDX-License-Identifier: Apache-2.0
// Capacity compression of ETC: Li et al., "A Framework for Memory Oversubscription Management in Graphics
// Processing Units", ASPLOS 2019. Assumed: every page has the same compression ratio.
#include "farfault/memory/memory_contents.hpp"

namespace farfault::memory_contents {
namespace {

struct Compressed final : MemoryContents {
  struct Params {
    double ratio = 1.5;
    Duration latency = 10ns;
    void describe(ParamTable& t) {
      t.number("ratio", ratio, {1, 16}, "Compression ratio: pages held per uncompressed page", "assumed");
      t.duration("latency", latency, {0ns, 1us}, "Latency added to every access to the GPU's DRAM. 0: none",
                 "assumed");
    }
  };
  static constexpr Facts facts(Params const& p) {
    return {.ratio = static_cast<std::uint64_t>(p.ratio * 1000 + 0.5), .latency = p.latency};
  }
};

}  // namespace

void compressed(PolicyList<MemoryContents>& list) {
  list.add<Compressed>("compressed", "compressed pages, with an additional access latency");
}

}  // namespace farfault::memory_contents
