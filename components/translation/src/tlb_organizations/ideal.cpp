// SPDX-License-Identifier: Apache-2.0
// Ideal TLB, the baseline for the total cost of translation (Mosaic, MICRO 2017, section 3.1: every look-up
// hits). It holds the mappings of time zero and everything that is filled. Nothing is evicted, so it grows
// with the pages that were filled or invalidated.
#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "farfault/translation/page_table.hpp"
#include "farfault/translation/tlb_organization.hpp"

namespace farfault::tlb_organizations {
namespace {

class Ideal final : public TlbOrganization {
 public:
  explicit Ideal(Setup const& s) : sizes_{s.entries == 0 ? 0 : s.sizes} {
    if (s.entries != 0 && s.mapped != nullptr) mapped_.value = *s.mapped;
  }

  std::optional<PageTranslation> lookup(std::uint64_t page) override {
    auto const filled = find_by_size(sizes_.value, [&](std::uint8_t size) -> std::optional<PageTranslation> {
      auto const i = find(key(page, size));
      if (!i || records_[*i].frame == kNoFrame) return std::nullopt;
      return PageTranslation{records_[*i].frame, size};
    });
    return filled ? filled : mapped_at_start(page);
  }
  void fill(std::uint64_t page, PageTranslation const& translation) override {
    if (sizes_.value != 0) frame_of(key(page, translation.size)) = translation.frame;
  }
  bool invalidate(std::uint64_t page) override {
    auto const mapped = mapped_at_start(page);
    bool const filled = erase_by_size(sizes_.value, [&](std::uint8_t size) {
      auto const i = find(key(page, size));
      return i && std::exchange(records_[*i].frame, kNoFrame) != kNoFrame;
    });
    if (mapped) frame_of(key(page, mapped->size)) = kNoFrame;
    return filled || mapped;
  }
  void each_entry(EntryFunction const& f) const override {
    for (auto const& r : records_)
      if (r.frame != kNoFrame) f(page_of(r.key), {r.frame, size_of(r.key)});
    if (!mapped_.value) return;
    mapped_.value->get().each_page([&](std::uint64_t page, PageTranslation const& t) {
      if (!find(key(page, t.size))) f(page, t);
    });
  }
  std::span<SetAssociative const> arrays() const override { return {}; }

  auto members() { return std::tie(records_, used_, sizes_, mapped_); }

 private:
  // Record of a page that was filled or invalidated. It overrides a mapping of time zero of the same size.
  struct Record {
    std::uint64_t key = SetAssociative::kEmpty;
    PhysAddr frame = kNoFrame;  // kNoFrame: no translation
  };

  std::optional<PageTranslation> mapped_at_start(std::uint64_t page) const {
    if (!mapped_.value) return std::nullopt;
    auto const mapped = mapped_.value->get().find(page);
    return mapped && !find(key(page, mapped->size)) ? mapped : std::nullopt;
  }

  // Index of the key's record.
  std::optional<std::size_t> find(std::uint64_t key) const {
    if (records_.empty()) return std::nullopt;
    auto const i = place_of(key);
    return records_[i].key == key ? std::optional(i) : std::nullopt;
  }
  // Frame in the key's record, which is created if absent.
  PhysAddr& frame_of(std::uint64_t key) {
    if (auto const i = find(key)) return records_[*i].frame;
    if (2 * ++used_ > records_.size()) grow();
    auto& r = records_[place_of(key)];
    r.key = key;
    return r.frame;
  }
  // Index of the key's record, or of the place for a new one.
  std::size_t place_of(std::uint64_t key) const {
    // Multiplicative hashing (Knuth, vol. 3, 6.4): the upper bits of the product; then linear probing.
    auto const last = records_.size() - 1;
    auto i = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ULL) >> std::countl_zero(last));
    while (records_[i].key != key && records_[i].key != SetAssociative::kEmpty) i = (i + 1) & last;
    return i;
  }
  void grow() {
    constexpr std::size_t kFirst = 16;
    auto const old = std::exchange(records_, std::vector<Record>(std::max(kFirst, 2 * records_.size())));
    for (auto const& r : old)
      if (r.key != SetAssociative::kEmpty) records_[place_of(r.key)] = r;
  }

  std::vector<Record> records_;  // by hash of the key; a power of two, at most half full
  std::uint64_t used_ = 0;
  Fixed<std::uint64_t> sizes_;  // bit s: pages of 2^s base pages exist
  // Mappings of time zero. Not a pointer: its bytes would be saved and hashed as state.
  using Mapped = Fixed<std::optional<std::reference_wrapper<PageTable const>>>;
  static_assert(!Bytes<Mapped>);
  Mapped mapped_;
};

}  // namespace

void ideal(PolicyList<TlbOrganization>& list) {
  list.add<Ideal>("ideal", "unlimited entries, with all translations mapped at time zero or filled");
}

}  // namespace farfault::tlb_organizations
