// A TLB of two arrays of half the entries each: one bit of the page's number says which. Arrays that are
// looked up apart need fewer ports.
#include <farfault/program.hpp>
#include <farfault/translation/tlb_organization.hpp>

namespace {

using namespace farfault;

class SplitTlb final : public TlbOrganization {
 public:
  struct Params {
    std::uint64_t bit = 0;
    void describe(ParamTable& t) {
      t.count("bit", bit, {0, 35}, "bit of the page's number that chooses one of two arrays", "assumed");
    }
  };

  SplitTlb(Params const& p, Setup const& s) : params_{p}, frames_(s.entries) {
    if (s.entries != 0 && s.entries / s.ways % 2 != 0)
      throw UserError("bit = " + std::to_string(p.bit) + ": a TLB of an odd number of sets, " +
                      std::to_string(s.entries / s.ways) + ", has no halves");
    for (auto& half : halves_)
      half = SetAssociative(s.entries == 0 ? 0 : s.entries / s.ways / 2, s.ways, s.replacement);
  }

  std::optional<PageTranslation> lookup(std::uint32_t asid, std::uint64_t page) override {
    if (frames_.empty()) return std::nullopt;
    auto const half = half_of(page);
    auto const slot = halves_[half].find(set_of(page), key(asid, page));
    if (!slot) return std::nullopt;
    ++hits_[half];
    return PageTranslation{frame(half, *slot)};
  }
  void fill(std::uint32_t asid, std::uint64_t page, PageTranslation const& translation) override {
    if (frames_.empty()) return;
    auto const half = half_of(page);
    auto& array = halves_[half];
    auto const present = array.find(set_of(page), key(asid, page));
    auto const slot = present ? *present : array.insert(set_of(page), key(asid, page)).slot;
    frame(half, slot) = translation.frame;
  }
  bool invalidate(std::uint32_t asid, std::uint64_t page) override {
    return !frames_.empty() && halves_[half_of(page)].erase(set_of(page), key(asid, page));
  }
  void each_entry(EntryFunction const& f) const override {
    for (std::uint32_t i = 0; i < frames_.size(); ++i)
      if (auto const k = halves_[i % 2].key(i / 2); k != SetAssociative::kEmpty)
        f(asid_of(k), page_of(k), {frames_[i]});
  }
  std::span<SetAssociative const> arrays() const override { return halves_; }

  auto members() { return std::tie(params_, halves_, frames_, hits_); }
  static auto stats() {
    return std::array<Stat<SplitTlb>, 1>{{{"hits_of_second", "count", "hits in the second array",
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
  std::array<SetAssociative, 2> halves_;
  std::vector<PhysAddr> frames_;  // of both, in turn
  std::array<std::uint64_t, 2> hits_{};
};

}  // namespace

void split_tlb(Extensions& all) {
  all.policy<SplitTlb>("split", "two arrays of half the entries, as a bit of the page's number says");
}
