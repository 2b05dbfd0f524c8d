// SPDX-License-Identifier: Apache-2.0
// What a GPU's access to a page on another device does: the page is accessed where it is, or moves to the
// GPU, or the GPU gets a copy.
//
// Contract: moves_pages() says whether any page ever moves, may_move() whether a touch of a page at `frame`
// counts at all; both are functions of the parameters. touch() is called when `gpu` asks an IOMMU for the
// translation of a page that lies at `frame`, once for each request that is not merged with another, and says
// whether the page is to move there now; forget() when it has moved. Where reads make copies (makes_copies())
// it says whether the driver is to be asked, and is called for each request, of which the access counts: a
// read of a page that is not on the GPU, and a write of one that is not, or has copies. Each IOMMU has an
// object of its own, which sees the requests of its GPUs. Source: GMMU Bypass, section 2.2.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

class RemoteTouch {
 public:
  using Interface = RemoteTouch;
  struct Setup {
    unsigned page_bits = 12;
    std::uint32_t spaces = 1;
  };
  static PolicyList<RemoteTouch> known();

  virtual ~RemoteTouch() = default;
  virtual bool moves_pages() const = 0;
  virtual bool may_move(PhysAddr frame, std::uint32_t gpu) const = 0;
  virtual bool makes_copies() const { return false; }
  virtual bool touch(std::uint64_t page, PhysAddr frame, std::uint32_t gpu, Access access) = 0;
  virtual void forget(std::uint64_t page) = 0;
};

extern template class PolicyChoice<RemoteTouch>;

}  // namespace farfault
