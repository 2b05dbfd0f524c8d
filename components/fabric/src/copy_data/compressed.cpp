// SPDX-License-Identifier: Apache-2.0
// Compression of PCIe transfers, as Batch-aware unified memory (ASPLOS 2020), Fig. 11, adds to its baseline.
// The paper gives neither ratio nor latency; all lines are assumed to compress equally.
#include <algorithm>
#include <cmath>

#include "farfault/fabric/copy_data.hpp"

namespace farfault::copy_data {
namespace {

class Compressed final : public CopyData {
 public:
  struct Params {
    double ratio = 1.5;
    Duration latency = 100ns;
    void describe(ParamTable& t) {
      t.number("ratio", ratio, {1, 16}, "Compression ratio: bytes of a line per byte on the links",
               "assumed");
      t.duration("latency", latency, {0ns, 1ms}, "Compression and decompression latency per copy. 0: none",
                 "assumed");
    }
  };
  explicit Compressed(Params const& p)
      : ratio_(static_cast<std::uint64_t>(std::llround(p.ratio * 1000))), latency_(p.latency) {}
  std::uint32_t payload(std::uint32_t bytes) const override {
    auto const thousandths = std::uint64_t{bytes} * 1000;
    return std::max(1U, static_cast<std::uint32_t>((thousandths + ratio_ - 1) / ratio_));
  }
  Duration latency() const override { return latency_; }
  auto members() { return std::tie(ratio_, latency_); }

 private:
  std::uint64_t ratio_;  // in thousandths
  Duration latency_;
};

}  // namespace

void compressed(PolicyList<CopyData>& list) {
  list.add<Compressed>("compressed", "compressed on the links");
}

}  // namespace farfault::copy_data
