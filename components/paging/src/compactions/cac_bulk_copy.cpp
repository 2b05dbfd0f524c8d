// SPDX-License-Identifier: Apache-2.0
// Mosaic (MICRO 2017), section 4.4: in-DRAM copies as in RowClone (Seshadri et al., MICRO 2013) or LISA
// (Chang et al., HPCA 2016), which do not use the memory channel.
#include "counted.hpp"
#include "farfault/engine/params.hpp"

namespace farfault::compactions {
namespace {

class CacBulkCopy final : public Counted<CacBulkCopy> {
 public:
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
  CacBulkCopy(Params const& p, Setup const&) : time_(p.time), at_a_time_(p.at_a_time) {}

  std::optional<Duration> time_in_memory() const override { return time_; }
  std::int64_t at_a_time() const override { return at_a_time_; }

  auto members() { return std::tuple_cat(std::tie(time_, at_a_time_), Counted::members()); }

 private:
  Duration time_;
  std::int64_t at_a_time_;
};

}  // namespace

void cac_bulk_copy(PolicyList<Compaction>& list) {
  list.add<CacBulkCopy>("cac_bulk_copy", "pages copied within memory, without the channel (Mosaic)");
}

}  // namespace farfault::compactions
