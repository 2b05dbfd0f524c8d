// SPDX-License-Identifier: Apache-2.0
// Remote-access policy: a GPU's access to a page on another device is served remotely, or the page migrates
// to the GPU, or the GPU gets a copy (GMMU Bypass, NPC 2020, section 2.2). Each IOMMU has its own object,
// which sees the requests of its GPUs.
//
// - moves_pages: pages may migrate. may_move(): touches of a page at `frame` by `gpu` are counted, a function
//   of the parameters and arguments only.
// - touch(): called when `gpu` requests from an IOMMU the translation of a page at `frame`, once per request
//   that is not merged with another. Returns true if the page is to migrate now. forget(): it has migrated.
// - makes_copies: reads make copies. touch() is then called for each request with its access, and returns
//   true if the driver is to be asked: for a read of a page that is not on the GPU, and for a write of a page
//   that is not on the GPU or has copies.
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
  struct Facts {
    Needed<bool> moves_pages;
    bool makes_copies = false;
  };
  static PolicyList<RemoteTouch> known();

  virtual ~RemoteTouch() = default;
  virtual bool may_move(PhysAddr frame, std::uint32_t gpu) const = 0;
  virtual bool touch(std::uint64_t page, PhysAddr frame, std::uint32_t gpu, Access access) = 0;
  virtual void forget(std::uint64_t page) = 0;
};

extern template class PolicyChoice<RemoteTouch>;

}  // namespace farfault
