// What ranks tell each other, and what follows from it for this rank's lanes.
#include <algorithm>
#include <chrono>

#include "engine_impl.hpp"

namespace farfault {

namespace {
constexpr std::uint64_t kStopFlag = 1;
}  // namespace

void Engine::Impl::exchange(bool stop_wanted, bool& stop) {
  auto const began = std::chrono::steady_clock::now();
  take_in_all();
  Transport::RankState mine;
  mine.next = horizons.first();
  mine.flags = stop_wanted ? kStopFlag : 0;
  std::vector<Mailbox> boxes(map.ranks());
  auto const& peers = map.peers();
  for (std::size_t k = 0; k < peers.size(); ++k) std::swap(boxes[peers[k]], to_peers[k]);
  arrived.clear();
  auto const done = transport.exchange(mine, boxes, arrived, rank_states);
  for (std::size_t k = 0; k < peers.size(); ++k) std::swap(boxes[peers[k]], to_peers[k]);
  profile.bytes_sent += done.bytes_sent;
  sort_arrived();
  global_next = done.first;
  auto remote_mail = EventQueue::kNever;
  stop = false;
  for (auto const& state : rank_states) {
    remote_mail = std::min(remote_mail, state.mail);
    stop = stop || (state.flags & kStopFlag) != 0;
  }
  for (std::uint32_t k = 0; k < peers.size(); ++k)
    horizons.set_peer(k, std::min(rank_states[peers[k]].next, remote_mail));
  horizons.set_neighbourhood(global_next);
  ++profile.exchanges;
  profile.blocked_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Only finds out which lane each event is for: a lane's own thread puts them into its queue.
void Engine::Impl::sort_arrived() {
  for (std::uint32_t i = 0; i < arrived.size(); ++i) {
    auto const lane = map.node_of_port()[arrived[i].to];
    inboxes[lane].arrived.push_back(i);
    horizons.expect(merged ? 0 : lane, arrived[i].when);
  }
  profile.leader_looks += arrived.size();
  if (as_one()) take_in_all();
}

}  // namespace farfault
