// SPDX-License-Identifier: Apache-2.0
// A translation takes the route that found the last one of its region of 512 pages (2 MiB of 4 KiB pages).
#include <farfault/program.hpp>
#include <farfault/translation/router.hpp>

struct ByRegion final : farfault::Router {
  struct Params {
    std::uint32_t regions = 1024;
    void describe(farfault::ParamTable& t) {
      t.count("regions", regions, {1, 1 << 20}, "Tracked regions", "assumed");
    }
  };
  explicit ByRegion(Params const& p) : last_(p.regions, farfault::Route::gmmu) {}

  farfault::Routing route(farfault::TranslateRequest const& r, farfault::PageTable const&,
                          farfault::Time) override {
    return last_[slot(r)];
  }
  void observe(farfault::TranslateRequest const& r, farfault::Routing const& sent, bool local,
               farfault::Time) override {
    auto const found = local ? farfault::Route::gmmu : farfault::Route::iommu;
    ++(sent.to == found ? right_ : wrong_);
    last_[slot(r)] = found;
  }

  auto members() { return std::tie(last_, right_, wrong_); }  // every member
  static auto stats() {                                       // /timeseries/gpu.router, when it is chosen
    using R = ByRegion const&;
    constexpr auto kCounter = farfault::StatKind::counter;
    return std::array<farfault::Stat<ByRegion>, 2>{{
        {"right", "count", "Requests sent to the unit that resolves them", kCounter,
         [](R r) { return r.right_; }},
        {"wrong", "count", "Requests sent to the other unit", kCounter, [](R r) { return r.wrong_; }},
    }};
  }

 private:
  std::size_t slot(farfault::TranslateRequest const& r) const { return r.page / 512 % last_.size(); }

  std::vector<farfault::Route> last_;
  std::uint64_t right_ = 0;
  std::uint64_t wrong_ = 0;
};

int main(int argc, char** argv) {
  return farfault::program(argc, argv,
                           farfault::policies().add<ByRegion>(
                               "by_region", "Unit that resolved the last translation of the region"));
}
