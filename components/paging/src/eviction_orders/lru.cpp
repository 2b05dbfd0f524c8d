// A unit's position changes when a page of it comes and when one is accessed: the order that Batch-aware
// unified memory (ASPLOS 2020), section 5.1, names. No driver knows of every access; here it costs nothing
// that it is told of them.
#include "farfault/paging/eviction_order.hpp"
#include "farfault/paging/unit_list.hpp"

namespace farfault::eviction_orders {
namespace {

class Lru final : public EvictionOrder {
 public:
  struct Params {
    Duration epoch = 10us;
    void describe(ParamTable& t) {
      t.duration("epoch", epoch, {1ns, 1s},
                 "of the accesses of an SM to a page in this time the order goes by the first", "assumed");
    }
  };
  Lru(Params const& p, Setup const& setup) : params_{p}, units_(setup.page_bits, setup.spaces) {}

  Duration epoch() const override { return params_->epoch; }
  void arrived(std::uint64_t unit) override { units_.put_last(unit); }
  void used(std::uint64_t unit) override {
    if (units_.holds(unit)) units_.put_last(unit);
  }
  void left(std::uint64_t unit) override { units_.remove(unit); }
  std::optional<std::uint64_t> victim(MayLeave const& may_leave) override { return units_.first(may_leave); }

  auto members() { return std::tie(params_, units_); }

 private:
  Fixed<Params> params_;
  UnitList units_;
};

}  // namespace

void lru(PolicyList<EvictionOrder>& list) {
  list.add<Lru>("lru", "the one in which no page has come or been accessed for the longest time");
}

}  // namespace farfault::eviction_orders
