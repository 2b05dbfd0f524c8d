// SPDX-License-Identifier: Apache-2.0
// The set index is the low bits of the page number (as in MGPUSim and GPGPU-Sim), counted in pages of its
// size. All sizes share the array: a look-up checks each size in use, base pages first.
#include <vector>

#include "farfault/translation/tlb_organization.hpp"

namespace farfault::tlb_organizations {
namespace {

class Plain final : public TlbOrganization {
 public:
  explicit Plain(Setup const& s)
      : array_(s.entries / s.ways, s.entries == 0 ? 0 : s.ways, s.replacement), sizes_{s.sizes} {}

  std::optional<PageTranslation> lookup(std::uint64_t page) override {
    if (array_.sets() == 0) return std::nullopt;
    if (sizes_.value != 1) return lookup_sizes(page);
    auto const slot = array_.find(set_of(page), page);
    if (!slot) return std::nullopt;
    return PageTranslation{frames_[*slot], 0};
  }
  void fill(std::uint64_t page, PageTranslation const& translation) override {
    if (array_.sets() == 0) return;
    auto const slot = array_.put(set_of(page >> translation.size), key(page, translation.size));
    array_.hold_slots(frames_);
    frames_[slot] = translation.frame;
  }
  bool invalidate(std::uint64_t page) override {
    return array_.sets() != 0 && erase_by_size(sizes_.value, [&](std::uint8_t size) {
             return array_.erase(set_of(page >> size), key(page, size));
           });
  }
  void each_entry(EntryFunction const& f) const override {
    array_.each([&](std::uint32_t slot, std::uint64_t k) { f(page_of(k), {frames_[slot], size_of(k)}); });
  }
  std::span<SetAssociative const> arrays() const override { return {&array_, 1}; }

  auto members() { return std::tie(array_, frames_, sizes_); }

 private:
  // Not inlined, so that the look-up with a single size stays short.
  [[gnu::noinline]] std::optional<PageTranslation> lookup_sizes(std::uint64_t page) {
    return find_by_size(sizes_.value, [&](std::uint8_t size) -> std::optional<PageTranslation> {
      auto const slot = array_.find(set_of(page >> size), key(page, size));
      if (!slot) return std::nullopt;
      return PageTranslation{frames_[*slot], size};
    });
  }
  std::uint32_t set_of(std::uint64_t page) const { return static_cast<std::uint32_t>(page % array_.sets()); }

  SetAssociative array_;
  std::vector<PhysAddr> frames_;  // by slot
  Fixed<std::uint64_t> sizes_;    // bit s: pages of 2^s base pages exist
};

}  // namespace

void plain(PolicyList<TlbOrganization>& list) {
  list.add<Plain>("plain", "one set-associative array with one entry per page of any size");
}

}  // namespace farfault::tlb_organizations
