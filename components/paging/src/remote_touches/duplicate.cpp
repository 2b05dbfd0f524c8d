// SPDX-License-Identifier: Apache-2.0
// Read-only duplication: each GPU that reads a shared page has a copy, until a GPU writes it. Models the read
// duplication of NVIDIA's driver (cudaMemAdviseSetReadMostly; uvm_va_block.c).
#include <array>

#include "farfault/paging/remote_touch.hpp"

namespace farfault::remote_touches {
namespace {

class Duplicate final : public RemoteTouch {
 public:
  static constexpr Facts facts() { return {.moves_pages = true, .makes_copies = true}; }
  bool may_move(PhysAddr frame, std::uint32_t gpu) const override {
    return device_of(frame) != gpu || is_read_only(frame);
  }
  bool touch(std::uint64_t, PhysAddr frame, std::uint32_t gpu, Access access) override {
    bool const written = access == Access::write && is_read_only(frame);
    bool const elsewhere = device_of(frame) != gpu;
    counts_.writes += written ? 1 : 0;
    counts_.reads += elsewhere && access == Access::read ? 1 : 0;
    return written || elsewhere;
  }
  void forget(std::uint64_t) override {}

  static auto stats() {
    using S = Duplicate const&;
    return std::to_array<Stat<Duplicate>>({
        {"reads", "count", "Requests to read a page on another device, which make a copy", StatKind::counter,
         [](S s) { return s.counts_.reads; }},
        {"writes", "count", "Requests to write a page with copies, which drop the copies", StatKind::counter,
         [](S s) { return s.counts_.writes; }},
    });
  }
  auto members() { return std::tie(counts_); }

 private:
  struct Counts {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
  };
  Counts counts_;
};

}  // namespace

void duplicate(PolicyList<RemoteTouch>& list) {
  list.add<Duplicate>("duplicate",
                      "read-only copies for GPUs that read the page, migration to a GPU that writes it, "
                      "which drops the copies");
}

}  // namespace farfault::remote_touches
