// SPDX-License-Identifier: Apache-2.0
// Synchronization of lanes: rounds, and mail between lanes.
//
// A round runs the lanes that may advance and the lanes with mail. Mail waits in the sending lane; after the
// round the leader hands each filled mailbox over, by exchange with an empty one, and the receiver's own
// thread delivers it at its next turn. All lanes with mail have a turn in the next round, so a mailbox is
// always empty when it is exchanged.
#include <algorithm>
#include <string>
#include <utility>

#include "engine_impl.hpp"
#include "farfault/engine/error.hpp"

namespace farfault {

namespace {

constexpr std::uint64_t kStretch = 1 << 15;  // events between checks of the stop flag
constexpr std::uint64_t kTrialRounds = 64;   // rounds over which density is judged
constexpr std::uint64_t kDenseRound = 24;    // events outside the longest lane that make sharing a round pay
constexpr std::uint64_t kWakingRound = 256;  // the same if sharing requires waking threads
// Events run merged before the next trial; doubles after a failed trial.
constexpr std::uint64_t kShortMerge = 1 << 14;
constexpr std::uint64_t kLongMerge = 1 << 22;

}  // namespace

Engine::Impl::Impl(System& s, Placement p, EngineOptions o, Transport& t)
    : system(s),
      options(o),
      transport(t),
      map(s, std::move(p), o, t.rank(), t.ranks()),
      horizons(map),
      bounds(map),
      workers(o.threads, map.local_lanes(), o.bind_threads),
      merge_length(kShortMerge) {
  build();
}

void Engine::Impl::build() {
  auto const n = map.local_lanes();
  for (std::uint32_t i = 0; i < n; ++i) {
    lanes.push_back(std::make_unique<Lane>(i, system.make_queue(), system.receivers_));
    lanes.back()->connect(map.alone() ? nullptr : map.node_of_port().data(), map.nodes());
  }
  if (options.record_path) {
    recorder.emplace(map.partitions(), map.partition_of());
    lanes[0]->record_path(&*recorder);
  }
  inboxes.resize(n);
  for (std::uint32_t from = 0; from < n; ++from) handed.emplace_back(n);
  for (auto& inbox : inboxes) inbox.senders.reserve(n);
  to_peers.resize(map.peers().size());
  for (std::size_t k = 0; k < to_peers.size(); ++k) {
    neighbours.emplace_back().rank = map.peers()[k];
    neighbours.back().mail = &to_peers[k];
  }
  turns.reserve(n);
  cost.assign(n, 0);
  before_merge.assign(n, Time{});
  forget_events();
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    system.component(id).has_worked_ = false;  // may be set by an earlier engine
    if (map.is_local(id)) system.component(id).create_state();
  }
  for (auto const& e : system.initial_) {
    auto const id = system.receivers_[e.to].component->id();
    if (map.is_local(id)) put(e);
  }
  if (recorder) recorder->restart(pending());
}

void Engine::Impl::put(Event const& e) {
  std::uint32_t const lane = merged ? 0 : map.node_of_port()[e.to];
  lanes[lane]->queue.push(e);
  horizons.expect(lane, e.when);
}

void Engine::Impl::forget_events() {
  for (auto& lane : lanes) {
    lane->queue.drain([](Event const&) {});
    for (auto& box : lane->outgoing) box.clear();
    lane->filled.clear();
    lane->last_event = Time{};
  }
  for (auto& boxes : handed)
    for (auto& box : boxes) box.clear();
  for (auto& inbox : inboxes) inbox = {};
  for (auto& box : to_peers) box.clear();
  std::fill(before_merge.begin(), before_merge.end(), Time{});
  horizons.forget();
  bounds.forget();
  global_next = EventQueue::kNever;
  last_loaded = Time{};
}

void Engine::Impl::for_each_pending(std::function<void(Event const&)> const& f) const {
  for (auto const& lane : lanes) lane->queue.for_each(f);
}

std::uint64_t Engine::Impl::pending() const {
  std::uint64_t n = 0;
  for (auto const& lane : lanes) n += lane->queue.size();
  return n;
}

Time Engine::Impl::last_event() const {
  auto last = std::max(last_loaded, *std::max_element(before_merge.begin(), before_merge.end()));
  for (auto const& lane : lanes) last = std::max(last, lane->last_event);
  return last;
}

// Called by the leader: hands each filled mailbox of a lane to its receiver, or to the mail for other ranks.
void Engine::Impl::hand_over(std::uint32_t from) {
  auto& lane = *lanes[from];
  for (auto const node : lane.filled) {
    auto& box = lane.outgoing[node];
    horizons.expect(node, box.earliest);
    auto& to = node < lanes.size() ? handed[from][node] : to_peers[node - lanes.size()];
    if (node < lanes.size()) inboxes[node].senders.push_back(from);
    if (to.events.empty())
      std::swap(to, box);
    else
      for (auto const& e : box.events) to.put(e);
    box.clear();
  }
  profile.leader_polls += lane.filled.size();
  lane.filled.clear();
}

void Engine::Impl::take_in(std::uint32_t to) {
  auto& lane = *lanes[merged ? 0 : to];
  auto const handled = merged ? std::max(lane.last_event, before_merge[to]) : lane.last_event;
  auto& inbox = inboxes[to];
  for (auto const from : inbox.senders) {
    auto& box = handed[from][to];
    if (box.earliest <= handled) [[unlikely]]
      late(*std::min_element(box.events.begin(), box.events.end(), precedes), handled);
    for (auto const& e : box.events) lane.queue.push(e);
    box.clear();
  }
  for (auto const i : inbox.arrived) {
    if (arrived[i].when <= handled) [[unlikely]]
      late(arrived[i], handled);
    lane.queue.push(arrived[i]);
  }
  inbox.senders.clear();
  inbox.arrived.clear();
}

void Engine::Impl::take_in_all() {
  for (std::uint32_t i = 0; i < lanes.size(); ++i)
    if (!inboxes[i].empty()) take_in(i);
}

// Horizons exclude this case. Otherwise a result would be wrong without notice.
void Engine::Impl::late(Event const& e, Time handled) const {
  panic("an event for " + system.receivers_[e.to].component->path() + " at " +
            std::to_string(picoseconds(e.when)) + " ps arrives after its lane has handled events up to " +
            std::to_string(picoseconds(handled)) + " ps: the lookahead is too long",
        __FILE__, __LINE__);
}

bool Engine::Impl::step_as_one(Time end) {
  auto const horizon = horizons.of_merged(end);
  if (horizons.next(0) >= horizon) return false;
  ++profile.rounds;
  auto const n = lanes[0]->run(horizon, merged ? std::min(kStretch, merged_left) : kStretch);
  horizons.ran(0, lanes[0]->queue.next_time());
  hand_over(0);
  if (merged && (merged_left -= std::min(n, merged_left)) == 0) split();
  return true;
}

void Engine::Impl::choose_turns() {
  turns.clear();
  runnable = 0;
  for (auto const i : horizons.active()) {
    bool const may_run = horizons.next(i) < horizons.of(i);
    if (may_run) ++runnable;
    if (may_run || !inboxes[i].empty()) turns.push_back({i, may_run ? cost[i] : 0});
  }
}

void Engine::Impl::take_turn(std::uint32_t lane) {
  take_in(lane);
  auto& l = *lanes[lane];
  cost[lane] = horizons.next(lane) < horizons.of(lane) ? l.run(horizons.of(lane), kStretch) : 0;
  horizons.ran(lane, l.queue.next_time());
}

bool Engine::Impl::step(Time end) {
  if (as_one()) return step_as_one(end);
  horizons.find(end);
  choose_turns();
  if (runnable == 0) return false;
  ++profile.rounds;
  bool const small = workers.crowded() && events_of_round < kWakingRound;
  if (runnable == 1 || workers.threads() == 1 || small) {
    for (auto const& turn : turns) take_turn(turn.task);
  } else {
    ++profile.shared_rounds;
    workers.round(turns, [this](std::uint32_t i) { take_turn(i); });
  }
  std::uint64_t all = 0;
  std::uint64_t most = 0;
  for (auto const& turn : turns) {
    all += cost[turn.task];
    most = std::max(most, cost[turn.task]);
    hand_over(turn.task);
  }
  profile.longest_lanes += most;
  profile.leader_polls += turns.size();
  events_of_round = all;
  if (options.run_sparse_merged) judge_density(all - most);
  return true;
}

// Sharing a round saves at most the events outside its longest lane.
void Engine::Impl::judge_density(std::uint64_t beside_longest) {
  trial_events += beside_longest;
  if (++trial_rounds < kTrialRounds) return;
  if (trial_events < kDenseRound * kTrialRounds)
    merge();
  else
    merge_length = kShortMerge;
  trial_rounds = 0;
  trial_events = 0;
}

void Engine::Impl::merge() {
  take_in_all();
  auto& all = *lanes[0];
  for (std::uint32_t i = 0; i < lanes.size(); ++i) {
    before_merge[i] = lanes[i]->last_event;
    lanes[i]->last_event = Time{};
    horizons.ran(i, EventQueue::kNever);
    if (i != 0) lanes[i]->queue.drain([&](Event const& e) { all.queue.push(e); });
  }
  horizons.expect(0, all.queue.next_time());
  all.connect(map.ranks() == 1 ? nullptr : map.merged_node_of_port().data(), all.outgoing.size());
  merged = true;
  merged_left = merge_length;
  merge_length = std::min(2 * merge_length, kLongMerge);
  ++profile.merges;
}

void Engine::Impl::split() {
  auto& all = *lanes[0];
  merged = false;
  moving.clear();
  all.queue.drain([this](Event const& e) { moving.push_back(e); });
  all.connect(map.node_of_port().data(), all.outgoing.size());
  horizons.ran(0, EventQueue::kNever);
  for (auto const& e : moving) put(e);
  auto const handled = all.last_event;
  for (std::size_t i = 0; i < lanes.size(); ++i)
    lanes[i]->last_event = std::max(handled, std::exchange(before_merge[i], Time{}));
}

RunState Engine::Impl::run(Time end, std::atomic<bool>& stop) {
  for (;;) {
    bool moved = true;
    while (moved && !stop.load(std::memory_order_relaxed)) moved = step(end);
    bool stopped = moved;
    if (map.ranks() == 1) {
      global_next = horizons.first();
    } else {
      auto const all = exchange(end, stop.load(std::memory_order_relaxed));
      if (!all) continue;
      stopped = all->flags != 0;
      global_next = all->first;
      if (!stopped && global_next < end) continue;
    }
    take_in_all();
    if (stopped) {
      stop.store(false, std::memory_order_relaxed);
      return RunState::stopped;
    }
    return global_next == EventQueue::kNever ? RunState::drained : RunState::reached;
  }
}

}  // namespace farfault
