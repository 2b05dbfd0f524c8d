// SPDX-License-Identifier: Apache-2.0
// Least recently allocated: only the allocation of a page moves a unit to the end of the list. NVIDIA's
// driver moves a root chunk to the end of its list when a VA block allocates in it (uvm_pmm_gpu.c);
// Batch-aware unified memory (ASPLOS 2020), footnote 4.
#include "farfault/paging/eviction_order.hpp"
#include "farfault/paging/unit_list.hpp"

namespace farfault::eviction_orders {
namespace {

class AgedLru final : public EvictionOrder {
 public:
  explicit AgedLru(Setup const& setup) : units_(setup.page_bits, setup.spaces) {}

  void arrived(std::uint64_t unit) override { units_.move_to_end(unit); }
  void removed(std::uint64_t unit) override { units_.remove(unit); }
  std::optional<std::uint64_t> victim(Evictable const& evictable) override { return units_.first(evictable); }

  auto members() { return std::tie(units_); }

 private:
  UnitList units_;
};

}  // namespace

void aged_lru(PolicyList<EvictionOrder>& list) {
  list.add<AgedLru>("aged_lru", "unit with the least recent page allocation");
}

}  // namespace farfault::eviction_orders
