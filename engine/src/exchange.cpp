// SPDX-License-Identifier: Apache-2.0
#include "exchange.hpp"

#include <algorithm>
#include <chrono>

#include "engine_impl.hpp"

namespace farfault {

namespace {
constexpr std::uint64_t kStopFlag = 1;
}  // namespace

NeighbourBounds::NeighbourBounds(LaneMap const& map)
    : map_(map), known_(map.peers().size()), mail_(map.peers().size()) {}

void NeighbourBounds::forget() {
  std::fill(known_.begin(), known_.end(), Time{});
  reached_ = Time{};
  gap_ = 1;
  until_summary_ = 0;
}

void NeighbourBounds::send(std::vector<Transport::Neighbour>& neighbours, Time first) {
  // The minimum over what may reach this rank, and the minimum without that neighbour's contribution.
  auto least = EventQueue::kNever;
  auto second = EventQueue::kNever;
  std::size_t from = 0;
  for (std::size_t k = 0; k < neighbours.size(); ++k) {
    mail_[k] = neighbours[k].mail->earliest;
    auto const arrival =
        later(std::min(known_[k], mail_[k]), map_.link_from_peer(static_cast<std::uint32_t>(k)));
    if (arrival < least) {
      second = least;
      least = arrival;
      from = k;
    } else {
      second = std::min(second, arrival);
    }
  }
  for (std::size_t k = 0; k < neighbours.size(); ++k)
    neighbours[k].bound = std::min(first, k == from ? second : least);
  mine_ = {.first = first, .first_of = map_.rank(), .bound = std::min(first, least)};
  for (auto const mail : mail_) mine_.first = std::min(mine_.first, mail);
}

std::optional<Transport::Summary> NeighbourBounds::receive(
    std::vector<Transport::Neighbour> const& neighbours, std::optional<Transport::Summary> all, Time end,
    Horizons& horizons) {
  auto neighbourhood = mine_;
  for (auto const& n : neighbours) neighbourhood.add(n.theirs);
  if (map_.all_are_peers()) {
    all = neighbourhood;
  } else if (all) {
    // If bounds lag by much of a link, they advance slowly and a summary skips ahead.
    bool const leaps = later(all->bound, map_.shortest_between_ranks() / 2) < all->first;
    gap_ = leaps ? 1 : std::min(2 * gap_, kLongestGap);
    // An exchange advances a busy rank by at least one link.
    auto const to_end = all->first < end ? (end - all->first) / map_.shortest_between_ranks() : 0;
    until_summary_ = static_cast<std::uint32_t>(std::clamp<std::int64_t>(to_end, 1, gap_)) - 1;
  } else {
    --until_summary_;
  }
  auto others = Time{};
  if (all) {
    reached_ = all->first;
    others = all->first_of == map_.rank() ? all->second : all->first;
    for (auto const mail : mail_) others = std::min(others, mail);
  }
  for (std::uint32_t k = 0; k < neighbours.size(); ++k) {
    known_[k] = std::max(std::min(neighbours[k].their_bound, mail_[k]), reached_);
    horizons.set_peer(k, std::max(known_[k], others));
  }
  horizons.set_neighbourhood(all ? all->first : neighbourhood.first);
  return all;
}

std::optional<Transport::Summary> Engine::Impl::exchange(Time end, bool stop_wanted) {
  auto const began = std::chrono::steady_clock::now();
  take_in_all();
  bounds.send(neighbours, horizons.first());
  bounds.mine().flags = stop_wanted ? kStopFlag : 0;
  arrived.clear();
  auto const done = transport.exchange(neighbours, bounds.mine(), bounds.asks(), arrived);
  profile.messages_sent += done.messages_sent;
  profile.bytes_sent += done.bytes_sent;
  auto all = bounds.receive(neighbours, done.all, end, horizons);
  sort_arrived();
  ++profile.exchanges;
  if (done.all) ++profile.summaries;
  profile.blocked_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (watch && profile.exchanges % watched_every == 0) watch();
  return all;
}

// Only determines the lane of each event: a lane's own thread inserts them into its queue.
void Engine::Impl::sort_arrived() {
  for (std::uint32_t i = 0; i < arrived.size(); ++i) {
    auto const lane = map.node_of_port()[arrived[i].to];
    inboxes[lane].arrived.push_back(i);
    horizons.expect(merged ? 0 : lane, arrived[i].when);
  }
  profile.leader_polls += arrived.size();
  if (as_one()) take_in_all();
}

}  // namespace farfault
