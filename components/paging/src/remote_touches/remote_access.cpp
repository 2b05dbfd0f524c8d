// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/remote_touch.hpp"

namespace farfault::remote_touches {
namespace {

struct RemoteAccess final : RemoteTouch {
  static constexpr Facts facts() { return {.moves_pages = false}; }
  bool may_move(PhysAddr, std::uint32_t) const override { return false; }
  bool touch(std::uint64_t, PhysAddr, std::uint32_t, Access) override { return false; }
  void forget(std::uint64_t) override {}
};

}  // namespace

void remote_access(PolicyList<RemoteTouch>& list) {
  list.add<RemoteAccess>("remote_access", "access over the interconnect, without migration");
}

}  // namespace farfault::remote_touches
