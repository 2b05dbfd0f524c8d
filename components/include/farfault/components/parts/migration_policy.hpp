// What an access to a page on another device does: the page is accessed remotely, or migrates to the
// accessing GPU, once that GPU has requested its translation `migrate_after` times in a row (1: page
// migration as in GMMU Bypass, section 2.2; more: pages that GPUs share stay where they are).
#pragma once

#include <cstdint>
#include <tuple>

#include "farfault/components/parts/page_records.hpp"

namespace farfault {

enum class RemoteTouch : std::uint32_t { remote_access, migrate };

class MigrationPolicy {
 public:
  MigrationPolicy() = default;
  MigrationPolicy(RemoteTouch touch, std::uint32_t migrate_after, unsigned page_bits)
      : touch_(touch), migrate_after_(migrate_after), touches_(page_bits) {}

  // Whether a touch by `gpu` of a page at `frame` is one that counts.
  bool may_move(PhysAddr frame, std::uint32_t gpu) const {
    return touch_ == RemoteTouch::migrate && device_of(frame) != gpu;
  }
  // `gpu` touches the page at `frame`: whether it is to move there.
  bool touch(std::uint64_t page, PhysAddr frame, std::uint32_t gpu) {
    if (!may_move(frame, gpu)) return false;
    auto& t = touches_.of(page);
    if (t.gpu != gpu) t.in_a_row = 0;
    t.gpu = gpu;
    return ++t.in_a_row >= migrate_after_;
  }
  // The page has moved: its touches are counted from zero.
  void forget(std::uint64_t page) { touches_.forget(page); }

  auto members() { return std::tie(touch_, migrate_after_, touches_); }

 private:
  struct Touches {
    std::uint32_t gpu = 0;  // that touched it last
    std::uint32_t in_a_row = 0;
  };

  RemoteTouch touch_ = RemoteTouch::remote_access;
  std::uint32_t migrate_after_ = 1;
  PageRecords<Touches> touches_;
};

}  // namespace farfault
