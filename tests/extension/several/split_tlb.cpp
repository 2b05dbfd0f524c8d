// SPDX-License-Identifier: Apache-2.0
// A TLB of two arrays, each with half of the entries and fewer ports. A page-number bit selects the array.
#include <farfault/program.hpp>
#include <farfault/translation/tlb_organization.hpp>

namespace {

using namespace farfault;

class SplitTlb final : public TlbOrganization {
 public:
  struct Params {
    std::uint64_t bit = 0;
    void describe(ParamTable& t) {
      t.count("bit", bit, {0, 35}, "Bit of the page number that selects one of two arrays", "assumed");
    }
  };

  SplitTlb(Params const& p, Setup const& s) : params_{p}, sizes_{s.sizes}, frames_(s.entries) {
    auto const sets = s.entries / s.ways;
    if (sets % 2 != 0)
      throw UserError("bit = " + std::to_string(p.bit) + ": a TLB of an odd number of sets, " +
                      std::to_string(sets) + ", has no halves");
    for (auto& half : halves_) half = SetAssociative(sets / 2, s.ways, s.replacement);
  }

  std::optional<PageTranslation> lookup(std::uint64_t page) override {
    if (frames_.empty()) return std::nullopt;
    return find_by_size(sizes_.value, [&](std::uint8_t size) {
      auto const half = half_of(page >> size);
      auto const slot = halves_[half].find(set_of(page >> size), key(page, size));
      if (slot) ++hits_[half];
      return slot ? std::optional(PageTranslation{frame(half, *slot), size}) : std::nullopt;
    });
  }
  void fill(std::uint64_t page, PageTranslation const& translation) override {
    if (frames_.empty()) return;
    auto const number = page >> translation.size;
    auto const slot = halves_[half_of(number)].put(set_of(number), key(page, translation.size));
    frame(half_of(number), slot) = translation.frame;
  }
  bool invalidate(std::uint64_t page) override {
    return !frames_.empty() && erase_by_size(sizes_.value, [&](std::uint8_t size) {
      return halves_[half_of(page >> size)].erase(set_of(page >> size), key(page, size));
    });
  }
  void each_entry(EntryFunction const& f) const override {
    for (std::uint32_t i = 0; i < frames_.size(); ++i)
      if (auto const k = halves_[i % 2].key(i / 2); k != SetAssociative::kEmpty)
        f(page_of(k), {frames_[i], size_of(k)});
  }
  std::span<SetAssociative const> arrays() const override { return halves_; }

  auto members() { return std::tie(params_, sizes_, halves_, frames_, hits_); }
  static auto stats() {
    return std::array<Stat<SplitTlb>, 1>{{{"hits_of_second", "count", "Hits in the second array",
                                           StatKind::counter, [](SplitTlb const& t) { return t.hits_[1]; }}}};
  }

 private:
  std::size_t half_of(std::uint64_t page) const { return page >> params_->bit & 1; }
  std::uint32_t set_of(std::uint64_t page) const {
    auto const below = page & ((std::uint64_t{1} << params_->bit) - 1);
    return static_cast<std::uint32_t>((page >> (params_->bit + 1) << params_->bit | below) %
                                      halves_[0].sets());
  }
  PhysAddr& frame(std::size_t half, std::uint32_t slot) { return frames_[2 * slot + half]; }

  Fixed<Params> params_;
  Fixed<std::uint64_t> sizes_;  // bit s: pages of 2^s base pages may exist
  std::array<SetAssociative, 2> halves_;
  std::vector<PhysAddr> frames_;  // of both arrays, one after the other
  std::array<std::uint64_t, 2> hits_{};
};

}  // namespace

void split_tlb(Extensions& all) {
  all.policy<SplitTlb>("split", "Two arrays with half of the entries, selected by a page-number bit");
}
