// SPDX-License-Identifier: Apache-2.0
#include "farfault/fabric/access_counters.hpp"

#include <algorithm>

namespace farfault {

AccessCounters::AccessCounters(AccessCounterParams const& params, std::size_t peers)
    : bits_(params.regions().bits),
      threshold_(params.threshold),
      capacity_(params.notifications),
      counters_(peers),
      table_(params.counters, peers) {}

std::optional<AccessCounters::Notification> AccessCounters::count(std::uint32_t peer, std::uint64_t offset,
                                                                  std::uint32_t accesses) {
  auto& of_peer = counters_[peer];
  auto const number = regions().number(offset);
  if (number >= of_peer.size()) [[unlikely]]
    of_peer.resize(number + 1);
  if (table_.is_limited())
    if (auto const loser = table_.use({peer, number})) reset(counters_[loser->peer][loser->number]);
  auto& counter = of_peer[number];
  if (counter.count == 0) ++counts_.regions;
  counter.count = static_cast<std::uint16_t>(std::min(counter.count + accesses, kLargestCount));
  counter.sub_regions |= regions().sub_region(offset);
  if (counter.count < threshold_ || counter.has_notified != 0) [[likely]]
    return std::nullopt;
  counter.has_notified = 1;
  if (unread_ == capacity_) {
    ++counts_.dropped;
    return std::nullopt;
  }
  ++unread_;
  ++counts_.notifications;
  return Notification{regions().first(number), counter.sub_regions, counter.count};
}

void AccessCounters::read(std::uint32_t notifications) {
  FF_CHECK(notifications <= unread_, "more notifications were read than written");
  unread_ -= notifications;
}

void AccessCounters::clear(std::uint32_t peer, std::uint64_t offset) {
  auto const number = regions().number(offset);
  FF_CHECK(number < counters_[peer].size(), "a counter that does not exist was cleared");
  if (table_.is_limited() && !table_.remove({peer, number})) return;
  reset(counters_[peer][number]);
  ++counts_.cleared;
}

std::uint32_t AccessCounters::count_of(std::uint32_t peer, std::uint64_t offset) const {
  auto const number = regions().number(offset);
  return number < counters_[peer].size() ? counters_[peer][number].count : 0;
}

}  // namespace farfault
