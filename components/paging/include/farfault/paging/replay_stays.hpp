// SPDX-License-Identifier: Apache-2.0
// Pages that stay on a GPU until accesses to them are replayed, and for some time after that.
//
// - A page stays from its arrival for a fault until a replay of the GPU's accesses, whatever time the batch
//   takes. Otherwise batches that are served side by side would take pages from each other before an access
//   finds them.
// - Only batches of other GPUs wait. Evictions, counted accesses and programs do not.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "farfault/paging/page_records.hpp"

namespace farfault {

class ReplayStays {
 public:
  ReplayStays() = default;
  ReplayStays(unsigned page_bits, std::uint32_t spaces) : until_(page_bits, spaces) {}

  void arrived(std::uint64_t page) {
    until_.of(page) = Time::max();
    to_replay_.push_back(page);
  }
  // The GPU's accesses are replayed; their pages stay until this time.
  void replayed(Time until) {
    for (auto const page : to_replay_) until_.of(page) = until;
    to_replay_.clear();
  }
  // max: until the next replay.
  Time until(std::uint64_t page) const {
    auto const* until = until_.find(page);
    return until != nullptr ? *until : Time{};
  }

  auto members() { return std::tie(until_, to_replay_); }

 private:
  PageRecords<Time> until_;
  std::vector<std::uint64_t> to_replay_;
};

}  // namespace farfault
