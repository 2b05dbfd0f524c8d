// SPDX-License-Identifier: Apache-2.0
// Compression of PCIe transfers, as Batch-aware unified memory (ASPLOS 2020), Fig. 11, adds to its baseline.
// The paper gives neither ratio nor latency; all lines are assumed to compress equally.
#include "farfault/fabric/copy_data.hpp"

namespace farfault::copy_data {
namespace {

struct Compressed final : CopyData {
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
  static constexpr Facts facts(Params const& p) {
    return {.ratio = static_cast<std::uint64_t>(p.ratio * 1000 + 0.5), .latency = p.latency};
  }
};

}  // namespace

void compressed(PolicyList<CopyData>& list) {
  list.add<Compressed>("compressed", "compressed on the links");
}

}  // namespace farfault::copy_data
