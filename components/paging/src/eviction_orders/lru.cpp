// SPDX-License-Identifier: Apache-2.0
// Least recently used: the arrival of a page and each reported access move a unit to the end of the list, as
// in Batch-aware unified memory (ASPLOS 2020), section 5.1. Real drivers do not see all accesses; here
// reports are free of cost.
#include "farfault/paging/eviction_order.hpp"
#include "farfault/paging/page_records.hpp"
#include "farfault/paging/unit_list.hpp"

namespace farfault::eviction_orders {
namespace {

class Lru final : public EvictionOrder {
 public:
  struct Params {
    Duration epoch = 10us;
    void describe(ParamTable& t) {
      t.duration(
          "epoch", epoch, {1ns, 1s},
          "Access-tracking period. Only the first access per SM and page in each period updates the order",
          "assumed");
    }
  };
  static constexpr Facts facts(Params const& p) { return {.epoch = p.epoch}; }

  Lru(Params const& p, Setup const& setup)
      : params_{p}, units_(setup.page_bits, setup.spaces), last_used_(setup.page_bits, setup.spaces) {}

  void arrived(std::uint64_t unit) override { units_.move_to_end(unit); }
  void used(std::uint64_t unit, Time now) override {
    if (!units_.holds(unit)) return;
    units_.move_to_end(unit);
    auto const epoch = static_cast<std::uint64_t>(now.time_since_epoch() / params_->epoch) + 1;
    if (counts_.epoch != epoch) ++counts_.epochs;
    counts_.epoch = epoch;
    auto& last = last_used_.of(unit);
    if (last != epoch) ++counts_.units;
    last = epoch;
  }
  void removed(std::uint64_t unit) override { units_.remove(unit); }
  std::optional<std::uint64_t> victim(Evictable const& evictable) override { return units_.first(evictable); }

  static auto stats() {
    using S = Lru const&;
    return std::to_array<Stat<Lru>>({
        {"epochs", "count", "Periods (epochs) with page accesses", StatKind::counter,
         [](S s) { return s.counts_.epochs; }},
        {"accessed_units", "count",
         "Eviction units accessed in each epoch, summed over epochs. Divided by epochs: working set",
         StatKind::counter, [](S s) { return s.counts_.units; }},
    });
  }
  auto members() { return std::tie(params_, units_, last_used_, counts_); }

 private:
  struct Counts {
    std::uint64_t epoch = 0;  // latest epoch with an access, counted from 1
    std::uint64_t epochs = 0;
    std::uint64_t units = 0;
  };
  Fixed<Params> params_;
  UnitList units_;
  PageRecords<std::uint64_t> last_used_;  // latest epoch with an access
  Counts counts_;
};

}  // namespace

void lru(PolicyList<EvictionOrder>& list) {
  list.add<Lru>("lru", "unit with the least recent page arrival or access");
}

}  // namespace farfault::eviction_orders
