// A translation lookaside buffer: (address space, virtual page) -> frame. An L1 and an L2 TLB are the same
// part. Without entries every look-up misses. The set is the low bits of the page number (MGPUSim's and
// GPGPU-Sim's choice).
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "farfault/components/parts/set_associative.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

class Tlb {
 public:
  Tlb() = default;
  Tlb(std::uint32_t entries, std::uint32_t ways)
      : array_(entries / ways, entries == 0 ? 0 : ways), frames_(entries, kNoFrame) {}

  std::optional<PhysAddr> lookup(std::uint32_t asid, std::uint64_t page) {
    if (frames_.empty()) return std::nullopt;
    auto const slot = array_.find(set_of(page), key(asid, page));
    if (!slot) return std::nullopt;
    return frames_[*slot];
  }
  void fill(std::uint32_t asid, std::uint64_t page, PhysAddr frame) {
    if (frames_.empty()) return;
    auto const k = key(asid, page);
    auto const present = array_.find(set_of(page), k);
    frames_[present ? *present : array_.insert(set_of(page), k).slot] = frame;
  }
  bool invalidate(std::uint32_t asid, std::uint64_t page) {
    return !frames_.empty() && array_.erase(set_of(page), key(asid, page));
  }

  // Calls f(asid, page, frame) for every entry.
  template <class F>
  void each_entry(F&& f) const {
    for (std::uint32_t i = 0; i < frames_.size(); ++i)
      if (auto const k = array_.key(i); k != SetAssociative::kEmpty)
        f(static_cast<std::uint32_t>(k >> kPageBits), k & ((std::uint64_t{1} << kPageBits) - 1), frames_[i]);
  }

  auto members() { return std::tie(array_, frames_); }

 private:
  // Page numbers have at most 52 bits, so an address space identifier of 11 bits fits above them.
  static constexpr unsigned kPageBits = 52;
  static std::uint64_t key(std::uint32_t asid, std::uint64_t page) {
    return (static_cast<std::uint64_t>(asid) << kPageBits) | page;
  }
  std::uint32_t set_of(std::uint64_t page) const { return static_cast<std::uint32_t>(page % array_.sets()); }

  SetAssociative array_;
  std::vector<PhysAddr> frames_;
};

}  // namespace farfault
