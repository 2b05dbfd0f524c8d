// SPDX-License-Identifier: Apache-2.0
// Test helpers for TLB organizations: a TLB with its choice, and random traffic with known answers.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "choices.hpp"
#include "farfault/paging/large_pages.hpp"
#include "farfault/translation/tlb_organization.hpp"
#include "policies.hpp"

namespace farfault::test {

// The choice outlives its policy.
struct ChosenTlb {
  PolicyChoice<TlbOrganization> choice;
  Policy<TlbOrganization> tlb;

  ChosenTlb(std::string_view name, std::vector<Setting> const& settings, TlbOrganization::Setup const& setup)
      : choice(chosen<TlbOrganization>(name, settings)), tlb(choice.make(setup)) {}
  TlbOrganization* operator->() { return &*tlb; }
  std::uint64_t stat(std::string_view name) const { return stat_of(choice, tlb, name); }
};

// Entries by size and first base page.
using Entries = std::map<std::pair<unsigned, std::uint64_t>, PhysAddr>;
inline Entries entries_of(Policy<TlbOrganization> const& tlb) {
  Entries entries;
  tlb->each_entry([&](std::uint64_t page, PageTranslation const& t) {
    REQUIRE(first_of(page, t.size) == page);
    REQUIRE(entries.emplace(std::pair(t.size, page), t.frame).second);
  });
  return entries;
}

// Pages of 2 spaces, in 4 distant parts of each, of 4 regions of 512 base pages. Half of the regions are in
// aligned large frames, and their pages have several sizes. Pages of the other regions are anywhere; some of
// these regions are contiguous.
class TlbTraffic {
 public:
  explicit TlbTraffic(std::uint64_t seed, bool with_sizes) : random_(seed), with_sizes_(with_sizes) {
    for (std::uint64_t r = 0; r < kRegions; ++r) move(r);
  }

  // One call: `f(Fill)`, `f(Invalidation)` or `f(Lookup)`.
  struct Fill {
    std::uint64_t page;
    PageTranslation to;
  };
  struct Invalidation {
    std::uint64_t page;
  };
  struct Lookup {
    std::uint64_t page;
  };
  template <class F>
  void step(F&& f) {
    if (random_() % 64 == 0) region_ = random_() % kRegions;
    auto const region = random_() % 8 == 0 ? random_() % kRegions : region_;
    auto const page = page_of(region, random_() % (random_() % 4 == 0 ? 512 : 64));
    auto const draw = random_() % 4096;
    if (draw == 0) {
      for (std::uint64_t i = 0; i < 512; ++i) f(Invalidation{page_of(region, i)});
      move(region);
    } else if (draw < 256) {
      f(Invalidation{page});
      if (!is_large(region)) frames_[region * 512 + page % 512] = any_frame();
    } else if (draw < 1700) {
      f(Fill{page, translation(region, page)});
    } else {
      f(Lookup{page});
    }
  }
  // Calls f(page, frame) for each page.
  template <class F>
  void each_page(F&& f) const {
    for (std::uint64_t i = 0; i < frames_.size(); ++i) f(page_of(i / 512, i % 512), frames_[i]);
  }
  // Current frame of the page.
  PhysAddr at_home(std::uint64_t page) const {
    auto const region = region_of(page);
    return frames_[region * 512 + page % 512];
  }

 private:
  static constexpr std::uint64_t kRegions = 32;

  static std::uint64_t page_of(std::uint64_t region, std::uint64_t offset) {
    auto const space = region >= 16 ? std::uint64_t{255} << 36 : 0;
    auto const part = region / 4 % 4;
    return space | (part * (std::uint64_t{3} << 22) + region % 4 * 512 + offset);
  }
  static std::uint64_t region_of(std::uint64_t page) {
    auto const in_space = page & ((std::uint64_t{1} << 36) - 1);
    auto const part = in_space / (std::uint64_t{3} << 22);
    return (page >> 36 != 0 ? 16 : 0) + part * 4 + in_space % (std::uint64_t{3} << 22) / 512;
  }
  static bool is_large(std::uint64_t region) { return region % 2 == 0; }

  PageTranslation translation(std::uint64_t region, std::uint64_t page) {
    constexpr std::array<std::uint8_t, 4> kDrawn{0, 0, 2, 9};
    auto const size = with_sizes_ && is_large(region) ? kDrawn[random_() % 4] : std::uint8_t{0};
    return {at_home(page >> size << size), size};
  }
  PhysAddr any_frame() {
    auto const device = static_cast<DeviceId>(random_() % 8 == 0 ? kFirstCpu : random_() % 2);
    auto const frame = physical(device, (random_() % 4 << 18 | random_() % 1024) << 12U);
    return random_() % 8 == 0 ? read_only(frame) : frame;
  }
  void move(std::uint64_t region) {
    auto const first = any_frame() >> 21 << 21;
    bool const in_order = is_large(region) || random_() % 2 == 0;
    for (std::uint64_t i = 0; i < 512; ++i)
      frames_[region * 512 + i] = in_order ? first + (i << 12U) : any_frame();
  }

  std::mt19937_64 random_;
  bool with_sizes_;
  std::uint64_t region_ = 0;
  std::vector<PhysAddr> frames_ = std::vector<PhysAddr>(kRegions * 512);
};

}  // namespace farfault::test
