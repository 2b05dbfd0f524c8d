// SPDX-License-Identifier: Apache-2.0
// Mosaic (MICRO 2017), section 4.4: in-DRAM copies as in RowClone (Seshadri et al., MICRO 2013) or LISA
// (Chang et al., HPCA 2016), which do not use the memory channel.
#include "counted.hpp"
#include "farfault/engine/params.hpp"

namespace farfault::compactions {
namespace {

struct CacBulkCopy final : Counted<CacBulkCopy> {
  struct Params {
    Duration time = 80ns;
    std::uint32_t at_a_time = 1;
    void describe(ParamTable& t) {
      t.duration("time", time, {Duration{1}, 1s}, "Copy time of a base page within memory",
                 "Mosaic (MICRO 2017), section 4.4: \"e.g., 80 ns\"");
      t.count("at_a_time", at_a_time, {1, 1024}, "Maximum concurrent copies per GPU memory",
              "assumed: 1; copies do not block banks for other accesses");
    }
  };
  static constexpr Facts facts(Params const& p) {
    return {.time_in_memory = p.time, .at_a_time = p.at_a_time};
  }
};

}  // namespace

void cac_bulk_copy(PolicyList<Compaction>& list) {
  list.add<CacBulkCopy>("cac_bulk_copy", "pages copied within memory, without the channel (Mosaic)");
}

}  // namespace farfault::compactions
