// The set is the low bits of the page number (MGPUSim's and GPGPU-Sim's choice).
#include <vector>

#include "farfault/translation/tlb_organization.hpp"

namespace farfault::tlb_organizations {
namespace {

class Plain final : public TlbOrganization {
 public:
  explicit Plain(Setup const& s)
      : array_(s.entries / s.ways, s.entries == 0 ? 0 : s.ways, s.replacement), frames_(s.entries) {}

  std::optional<PageTranslation> lookup(std::uint32_t asid, std::uint64_t page) override {
    if (frames_.empty()) return std::nullopt;
    auto const slot = array_.find(set_of(page), key(asid, page));
    if (!slot) return std::nullopt;
    return PageTranslation{frames_[*slot]};
  }
  void fill(std::uint32_t asid, std::uint64_t page, PageTranslation const& translation) override {
    if (frames_.empty()) return;
    auto const k = key(asid, page);
    auto const present = array_.find(set_of(page), k);
    frames_[present ? *present : array_.insert(set_of(page), k).slot] = translation.frame;
  }
  bool invalidate(std::uint32_t asid, std::uint64_t page) override {
    return !frames_.empty() && array_.erase(set_of(page), key(asid, page));
  }
  void each_entry(EntryFunction const& f) const override {
    for (std::uint32_t i = 0; i < frames_.size(); ++i)
      if (auto const k = array_.key(i); k != SetAssociative::kEmpty) f(asid_of(k), page_of(k), {frames_[i]});
  }
  std::span<SetAssociative const> arrays() const override { return {&array_, 1}; }

  auto members() { return std::tie(array_, frames_); }

 private:
  std::uint32_t set_of(std::uint64_t page) const { return static_cast<std::uint32_t>(page % array_.sets()); }

  SetAssociative array_;
  std::vector<PhysAddr> frames_;  // by slot
};

}  // namespace

void plain(PolicyList<TlbOrganization>& list) {
  list.add<Plain>("plain", "one set-associative array, an entry for each page");
}

}  // namespace farfault::tlb_organizations
