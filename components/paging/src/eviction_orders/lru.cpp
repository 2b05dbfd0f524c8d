// A unit's position changes with each access that becomes known: Batch-aware unified memory (ASPLOS 2020),
// section 5.1, "LRU".
#include "farfault/paging/eviction_order.hpp"
#include "farfault/paging/unit_list.hpp"

namespace farfault::eviction_orders {
namespace {

class Lru final : public EvictionOrder {
 public:
  explicit Lru(Setup const& setup) : units_(setup.page_bits, setup.spaces) {}

  bool wants_accesses() const override { return true; }
  void arrived(std::uint64_t unit) override { units_.put_last(unit); }
  void used(std::uint64_t unit) override {
    if (units_.holds(unit)) units_.put_last(unit);  // an access can become known after the unit has left
  }
  void left(std::uint64_t unit) override { units_.remove(unit); }
  std::optional<std::uint64_t> victim(MayLeave const& may_leave) override { return units_.first(may_leave); }

  auto members() { return std::tie(units_); }

 private:
  UnitList units_;
};

}  // namespace

void lru(PolicyList<EvictionOrder>& list) {
  list.add<Lru>("lru", "the one that no SM is known to have accessed for the longest time");
}

}  // namespace farfault::eviction_orders
