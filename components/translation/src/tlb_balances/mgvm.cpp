// SPDX-License-Identifier: Apache-2.0
// MGvm (Pratheek, Jawalkar and Basu, MICRO 2022): the L2 TLBs of the chiplets are one distributed TLB, in
// which the home of a page is the chiplet of its data, unless most requests of other chiplets then go to one
// of them; then single pages are distributed.
//
// - Pages are distributed singly if, in `epochs` collections in a row, the hit rate of all banks is above
//   `hit_rate` and one bank received more than `share` of all requests of other partitions. With misses, a
//   distribution of single pages would cost reads of page tables in other chiplets.
// - Each kernel starts with the distribution of the level.
// - Source: its published code (csl-iisc/MGVM-MICRO2022: commandprocessor.go, remotetranslationunit.go,
//   tlb_with_latency.go). Differences: there a chiplet asks after 5,000 requests sent and received, here a
//   bank after as many received; there far requests are counted in the epoch before; at most 10
//   changes are made in a kernel, here any number; the distribution of single pages takes the lowest 8 bits
//   of the page number, here all.
#include <algorithm>

#include "farfault/translation/tlb_balance.hpp"

namespace farfault::tlb_balances {
namespace {

class Mgvm final : public TlbBalance {
 public:
  struct Params {
    std::uint32_t requests = 5000;
    double hit_rate = 0.9;
    double share = 0.8;
    std::uint32_t epochs = 2;
    void describe(ParamTable& t) {
      t.count("requests", requests, {1, 1 << 30},
              "Requests of other partitions at a bank, after which the counts of all banks are collected",
              "MGvm (MICRO 2022), published code: 5000");
      t.number("hit_rate", hit_rate, {0, 1},
               "Hit rate of all banks above which single pages may be distributed",
               "MGvm (MICRO 2022), published code: 0.9");
      t.number("share", share, {0, 1},
               "Share of one bank in the requests of other partitions above which the banks are unbalanced",
               "MGvm (MICRO 2022), published code: 0.8");
      t.count("epochs", epochs, {1, 1000}, "Collections in a row that must find the banks unbalanced",
              "MGvm (MICRO 2022), published code: 2");
    }
  };
  static constexpr Facts facts() { return {.switches = true}; }

  Mgvm(Params const& p, Setup const&) : p_{p} {}

  std::uint64_t epoch() const override { return p_->requests; }
  std::uint32_t counted(std::span<Counts const> banks) override {
    Counts all;
    std::uint64_t most = 0;
    for (auto const& bank : banks) {
      all.hits += bank.hits;
      all.misses += bank.misses;
      all.far += bank.far;
      most = std::max(most, bank.far);
    }
    bool const unbalanced =
        above(all.hits, all.hits + all.misses, p_->hit_rate) && above(most, all.far, p_->share);
    in_a_row_ = unbalanced ? in_a_row_ + 1 : 0;
    if (in_a_row_ >= p_->epochs) single_pages_ = 1;
    return static_cast<std::uint32_t>(single_pages_);
  }
  // As in the code, collections of the kernel before count.
  std::uint32_t kernel_started() override {
    single_pages_ = 0;
    return 0;
  }

  auto members() { return std::tie(p_, in_a_row_, single_pages_); }

 private:
  static bool above(std::uint64_t part, std::uint64_t whole, double limit) {
    return static_cast<double>(part) > limit * static_cast<double>(whole);
  }

  Fixed<Params> p_;
  std::uint64_t in_a_row_ = 0;  // collections that have found the banks unbalanced
  std::uint64_t single_pages_ = 0;
};

}  // namespace

void mgvm(PolicyList<TlbBalance>& list) {
  list.add<Mgvm>("mgvm", "single pages if most far requests go to one bank and nearly all hit");
}

}  // namespace farfault::tlb_balances
