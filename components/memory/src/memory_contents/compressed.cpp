// SPDX-License-Identifier: Apache-2.0
// Capacity compression of ETC: Li et al., "A Framework for Memory Oversubscription Management in Graphics
// Processing Units", ASPLOS 2019. Assumed: every page has the same compression ratio.
#include <cmath>

#include "farfault/memory/memory_contents.hpp"

namespace farfault::memory_contents {
namespace {

class Compressed final : public MemoryContents {
 public:
  struct Params {
    double ratio = 1.5;
    Duration latency = 10ns;
    void describe(ParamTable& t) {
      t.number("ratio", ratio, {1, 16}, "Compression ratio: pages held per uncompressed page", "assumed");
      t.duration("latency", latency, {0ns, 1us}, "Latency added to every access to the GPU's DRAM. 0: none",
                 "assumed");
    }
  };
  explicit Compressed(Params const& p)
      : ratio_(static_cast<std::uint64_t>(std::llround(p.ratio * 1000))), latency_(p.latency) {}
  std::uint64_t pages(std::uint64_t plain) const override { return plain * ratio_ / 1000; }
  Duration latency() const override { return latency_; }
  auto members() { return std::tie(ratio_, latency_); }

 private:
  std::uint64_t ratio_;  // in thousandths
  Duration latency_;
};

}  // namespace

void compressed(PolicyList<MemoryContents>& list) {
  list.add<Compressed>("compressed", "compressed pages, with an additional access latency");
}

}  // namespace farfault::memory_contents
