// SPDX-License-Identifier: Apache-2.0
// Contract of every L2 TLB fill policy, and an L2 TLB that keeps translations in a bypass cache.
#include "farfault/translation/tlb_fill.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "choices.hpp"

namespace tlb_fill_test {

using namespace farfault;
using test::kLru;

namespace {

constexpr std::uint32_t kSizes = 1U | 1U << 9;  // base pages, and large pages of 512
TlbFill::Setup const kSetup{.clock = Clock{1'000'000'000},
                            .sms = {{0, 1, 2}, {3}},
                            .page_bits = 12,
                            .page_sizes = kSizes,
                            .replacement = &kLru};

struct Kept {
  PageTranslation translation;
  bool holds(std::uint64_t first, std::uint64_t page) const {
    return page >> translation.size == first >> translation.size;
  }
};

}  // namespace

TEST_CASE("every TLB fill policy returns what it keeps outside the TLB and was not invalidated since") {
  for (auto const& name : test::names_of_known<TlbFill>()) {
    CAPTURE(name);
    PolicyChoice<TlbFill> const choice(name);
    auto fill = choice.make(kSetup);
    auto loaded = choice.make(kSetup);
    std::mt19937_64 random(5);
    std::map<std::uint64_t, Kept> kept;  // by the first page
    std::uint64_t found = 0;
    for (std::int64_t i = 0; i < 40'000; ++i) {
      if (i == 20'000) {
        test::copy_state(fill, loaded);
        std::swap(fill, loaded);
      }
      Time const now{i * 50ns};
      auto const page = (random() % 4 << 36) + random() % 1024;  // in four address spaces
      TlbFill::Requester const requester{static_cast<std::uint16_t>(random() % 5),
                                         static_cast<std::uint8_t>(random() % 2),
                                         static_cast<std::uint8_t>(random() % 64)};
      switch (random() % 16) {
        case 0:
          fill->invalidate(page);
          std::erase_if(kept, [&](auto const& k) { return k.second.holds(k.first, page); });
          break;
        case 1:
          if (random() % 50 != 0) break;
          fill->invalidate_all();
          kept.clear();
          break;
        case 2:
        case 3: {
          if (fill->fills(requester, now)) break;
          // A page's location does not change while any of its translations is valid: frames are derived from
          // the page.
          auto const size = static_cast<std::uint8_t>(random() % 8 == 0 ? 9 : 0);
          bool const overlaps = std::ranges::any_of(kept, [&](auto const& k) {
            return k.second.holds(k.first, page) || page >> size == k.first >> size;
          });
          if (overlaps) break;
          PageTranslation const t{physical(0, random() % 1000 << 21), size};
          fill->keep_bypassed(page, t);
          kept[page] = {t};
          break;
        }
        default: {
          auto const bypassed = fill->lookup_bypassed(page, Access::read);
          fill->looked_up(requester, bypassed.has_value(), now);
          if (!bypassed) break;
          ++found;
          auto const right =
              std::ranges::find_if(kept, [&](auto const& k) { return k.second.holds(k.first, page); });
          REQUIRE(right != kept.end());
          CHECK(*bypassed == right->second.translation);
        }
      }
    }
    CHECK((found > 100 || name == "always"));
  }
}

}  // namespace tlb_fill_test
