// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "farfault/paging/eviction_order.hpp"
#include "farfault/paging/page_records.hpp"
#include "farfault/parts/split_mix.hpp"

namespace farfault::eviction_orders {
namespace {

// Selects each unit with equal probability; if it may not be evicted, the next unit in the array that may.
class Random final : public EvictionOrder {
 public:
  struct Params {
    std::uint64_t seed = 1;
    void describe(ParamTable& t) {
      t.count("seed", seed, {0, UINT64_MAX}, "Random seed, the same for each GPU", "simulator setting");
    }
  };
  Random(Params const& p, Setup const& setup) : place_(setup.page_bits, setup.spaces), draws_(p.seed) {}

  void arrived(std::uint64_t unit) override {
    auto& place = place_.of(unit);
    if (place.after != 0) return;
    units_.push_back(unit);
    place.after = units_.size();
  }
  void removed(std::uint64_t unit) override {
    auto& place = place_.of(unit);
    if (place.after == 0) return;
    auto const last = units_.back();
    units_[place.after - 1] = last;
    units_.pop_back();
    auto const freed = place.after;
    place.after = 0;
    if (last != unit) place_.of(last).after = freed;
  }
  std::optional<std::uint64_t> victim(Evictable const& evictable) override {
    if (units_.empty()) return std::nullopt;
    auto const first = draws_.below(units_.size());
    for (std::size_t i = 0; i < units_.size(); ++i)
      if (auto const unit = units_[(first + i) % units_.size()]; evictable(unit)) return unit;
    return std::nullopt;
  }

  auto members() { return std::tie(place_, units_, draws_); }

 private:
  struct Place {
    std::uint64_t after = 0;  // index in units_ plus one; 0: not in units_
  };

  PageRecords<Place> place_;
  std::vector<std::uint64_t> units_;
  SplitMix draws_;
};

}  // namespace

void random(PolicyList<EvictionOrder>& list) {
  list.add<Random>("random", "random unit");
}

}  // namespace farfault::eviction_orders
