// How lanes are kept in step: horizons, rounds, mail, and the exchange with other ranks.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "engine_impl.hpp"
#include "farfault/engine/error.hpp"

namespace farfault {

namespace {

constexpr std::uint64_t kStretch = 1 << 15;  // events between looks at the stop flag
constexpr std::uint64_t kTrialRounds = 64;   // rounds over which density is judged
constexpr std::uint64_t kDenseRound = 48;    // events per round from which sharing it pays
constexpr std::uint64_t kWakingRound = 256;  // the same where sharing it means to wake threads
// Events run merged before the next trial; doubles when the trial fails.
constexpr std::uint64_t kShortMerge = 1 << 14;
constexpr std::uint64_t kLongMerge = 1 << 22;
constexpr std::uint64_t kStopFlag = 1;

Time plus(Time t, Duration d) {
  return t == Time::max() || d == Duration::max() ? Time::max() : t + d;
}

}  // namespace

Engine::Impl::Impl(System& s, Placement p, EngineOptions o, Transport& t)
    : system(s),
      options(o),
      transport(t),
      map(s, std::move(p), o, t.rank(), t.ranks()),
      workers(o.threads, map.local_lanes(), o.bind_threads),
      merge_length(kShortMerge) {
  build();
}

void Engine::Impl::build() {
  auto const n = map.local_lanes();
  for (std::uint32_t i = 0; i < n; ++i) {
    lanes.push_back(std::make_unique<Lane>(i, system.shortest_latency(), system.receivers_));
    lanes.back()->connect(map.alone() ? nullptr : map.lane_of_port().data(), n + map.ranks());
  }
  if (options.record_path) {
    recorder.emplace(map.partitions(), map.partition_of());
    lanes[0]->record_path(&*recorder);
  }
  incoming.assign(n, std::vector<Mailbox>(n));
  next.assign(n, EventQueue::kNever);
  horizon.assign(n, Time{});
  handled_before.assign(n, 0);
  before_merge.assign(n, Time{});
  forget_events();
  for (ComponentId id = 0; id < system.component_count(); ++id)
    if (map.is_local(id)) system.component(id).create_state();
  for (auto const& e : system.initial_) {
    auto const id = system.receivers_[e.to].component->id();
    if (map.is_local(id)) lanes[map.lane_of(id)]->queue.push(e);
  }
  if (recorder) recorder->restart(pending());
}

void Engine::Impl::forget_events() {
  for (auto& lane : lanes) {
    lane->queue.drain([](Event const&) {});
    for (auto& box : lane->outgoing) box.clear();
    lane->last_event = Time{};
  }
  for (auto& boxes : incoming)
    for (auto& box : boxes) box.clear();
  std::fill(before_merge.begin(), before_merge.end(), Time{});
  // Before the next exchange, other ranks may have events from time zero on.
  remote_next.assign(map.ranks(), Time{});
  remote_mail = EventQueue::kNever;
  global_next = EventQueue::kNever;
  last_loaded = Time{};
}

void Engine::Impl::for_each_pending(std::function<void(Event const&)> const& f) const {
  for (auto const& lane : lanes) {
    lane->queue.for_each(f);
    for (std::size_t to = 0; to < lanes.size(); ++to)
      for (auto const& e : lane->outgoing[to].events) f(e);
  }
  for (auto const& boxes : incoming)
    for (auto const& box : boxes)
      for (auto const& e : box.events) f(e);
}

std::uint64_t Engine::Impl::pending() const {
  std::uint64_t n = 0;
  for (auto const& lane : lanes) {
    n += lane->queue.size();
    for (std::size_t to = 0; to < lanes.size(); ++to) n += lane->outgoing[to].events.size();
  }
  for (auto const& boxes : incoming)
    for (auto const& box : boxes) n += box.events.size();
  return n;
}

Time Engine::Impl::last_event() const {
  auto last = std::max(last_loaded, *std::max_element(before_merge.begin(), before_merge.end()));
  for (auto const& lane : lanes) last = std::max(last, lane->last_event);
  return last;
}

void Engine::Impl::swap_mail() {
  for (std::size_t from = 0; from < lanes.size(); ++from) {
    for (std::size_t to = 0; to < lanes.size(); ++to) {
      auto& out = lanes[from]->outgoing[to];
      if (out.events.empty()) continue;
      auto& in = incoming[to][from];
      if (in.events.empty())
        std::swap(in, out);
      else
        for (auto const& e : out.events) in.put(e);
      out.clear();
    }
  }
}

void Engine::Impl::deliver(std::uint32_t lane) {
  for (auto& box : incoming[lane]) {
    if (box.events.empty()) continue;
    if (box.earliest <= lanes[lane]->last_event) [[unlikely]]
      late(*std::min_element(box.events.begin(), box.events.end(), precedes), lanes[lane]->last_event);
    for (auto const& e : box.events) lanes[lane]->queue.push(e);
    box.clear();
  }
}

void Engine::Impl::deliver_from_ranks() {
  for (auto const& e : arrived) {
    auto const lane = map.lane_of_port()[e.to];
    auto const handled =
        merged ? std::max(lanes[0]->last_event, before_merge[lane]) : lanes[lane]->last_event;
    if (e.when <= handled) [[unlikely]]
      late(e, handled);
    lanes[merged ? 0 : lane]->queue.push(e);
  }
}

// Horizons promise that this cannot be. A result in which it happened would be wrong without a sign.
void Engine::Impl::late(Event const& e, Time handled) const {
  panic("an event for " + system.receivers_[e.to].component->path() + " at " +
            std::to_string(picoseconds(e.when)) + " ps arrives after its lane has handled those up to " +
            std::to_string(picoseconds(handled)) + " ps: the lookahead is too long",
        __FILE__, __LINE__);
}

// The header states the rule; events in another rank's mailbox here count as pending there.
void Engine::Impl::compute_horizons(Time end) {
  auto const n = merged ? 1 : static_cast<std::uint32_t>(lanes.size());
  for (std::uint32_t i = 0; i < n; ++i) {
    next[i] = lanes[i]->queue.next_time();
    for (auto const& box : incoming[i]) next[i] = std::min(next[i], box.earliest);
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    auto h = end;
    if (!merged)
      for (std::uint32_t j = 0; j < n; ++j) h = std::min(h, plus(next[j], map.distance(j, i)));
    for (std::uint32_t r = 0; r < map.ranks(); ++r) {
      if (r == map.rank()) continue;
      auto pending = remote_next[r];
      for (std::uint32_t j = 0; j < n; ++j)
        pending = std::min(pending, lanes[j]->outgoing[lanes.size() + r].earliest);
      auto const distance = merged ? map.merged_distance_from_rank(r) : map.distance_from_rank(r, i);
      h = std::min({h, plus(pending, distance), plus(remote_mail, distance)});
    }
    if (merged) h = std::min(h, plus(next[0], map.merged_cycle_through_ranks()));
    horizon[i] = h;
  }
  align_horizons(n);
}

// Two that take turns to be ahead each wait for the other: with next events at 0 and L/2 and links of L, one
// may run 3L/2 and the other L/2, and so on for ever. A horizon within two of the shortest links from the
// first event of all is therefore drawn back to one such link from there: from then on all have the same to
// do. Lanes go by the first event of this rank now, ranks by that of the whole run at the last exchange.
void Engine::Impl::align_horizons(std::uint32_t lanes_in_use) {
  auto align = [&](Time first, Duration link) {
    auto const common = plus(first, link);
    auto const beyond = plus(common, link);
    for (std::uint32_t i = 0; i < lanes_in_use; ++i)
      if (horizon[i] < beyond) horizon[i] = std::min(horizon[i], common);
  };
  if (map.ranks() > 1) align(global_next, map.shortest_between_ranks());
  if (lanes_in_use > 1)
    align(*std::min_element(next.begin(), next.begin() + lanes_in_use), map.shortest_between_lanes());
}

bool Engine::Impl::step(Time end) {
  if (!merged) swap_mail();
  compute_horizons(end);
  if (merged || lanes.size() == 1) {
    if (next[0] >= horizon[0]) return false;
    ++profile.rounds;
    auto const limit = merged ? std::min(kStretch, merged_left) : kStretch;
    auto const n = lanes[0]->run(horizon[0], limit);
    if (merged && (merged_left -= std::min(n, merged_left)) == 0) split();
    return true;
  }
  std::uint32_t runnable = 0;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < lanes.size(); ++i) {
    if (next[i] < horizon[i]) {
      ++runnable;
      last = i;
    }
  }
  if (runnable == 0) return false;
  ++profile.rounds;
  for (std::size_t i = 0; i < lanes.size(); ++i) handled_before[i] = lanes[i]->handled;
  bool const small = workers.crowded() && events_of_round < kWakingRound;
  if (runnable == 1 || workers.threads() == 1 || small) {
    for (std::uint32_t i = 0; i <= last; ++i) {
      if (next[i] >= horizon[i]) continue;
      deliver(i);
      lanes[i]->run(horizon[i], kStretch);
    }
  } else {
    ++profile.shared_rounds;
    workers.round([this](std::uint32_t i) {
      deliver(i);
      if (next[i] < horizon[i]) lanes[i]->run(horizon[i], kStretch);
    });
  }
  std::uint64_t all = 0;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    auto const n = lanes[i]->handled - handled_before[i];
    all += n;
    most = std::max(most, n);
  }
  profile.longest_lanes += most;
  events_of_round = all;
  if (options.run_sparse_merged) judge_density(all);
  return true;
}

void Engine::Impl::judge_density(std::uint64_t events) {
  trial_events += events;
  if (++trial_rounds < kTrialRounds) return;
  if (trial_events < kDenseRound * kTrialRounds)
    merge();
  else
    merge_length = kShortMerge;
  trial_rounds = 0;
  trial_events = 0;
}

void Engine::Impl::merge() {
  swap_mail();
  auto& all = *lanes[0];
  for (std::uint32_t i = 0; i < lanes.size(); ++i) {
    deliver(i);
    before_merge[i] = lanes[i]->last_event;
    lanes[i]->last_event = Time{};
    if (i == 0) continue;
    lanes[i]->queue.drain([&](Event const& e) { all.queue.push(e); });
    // Mail for other ranks moves too: the merged lane carries the mail of all.
    for (auto box = lanes.size(); box < lanes[i]->outgoing.size(); ++box) {
      for (auto const& e : lanes[i]->outgoing[box].events) all.outgoing[box].put(e);
      lanes[i]->outgoing[box].clear();
    }
  }
  all.connect(map.ranks() == 1 ? nullptr : map.merged_lane_of_port().data(), all.outgoing.size());
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
  all.connect(map.lane_of_port().data(), all.outgoing.size());
  for (auto const& e : moving) lanes[map.lane_of_port()[e.to]]->queue.push(e);
  auto const handled = all.last_event;
  for (std::size_t i = 0; i < lanes.size(); ++i)
    lanes[i]->last_event = std::max(handled, std::exchange(before_merge[i], Time{}));
}

void Engine::Impl::exchange(bool stop_wanted, bool& stop) {
  auto const began = std::chrono::steady_clock::now();
  auto const n = lanes.size();
  auto& boxes = lanes[0]->outgoing;
  Transport::RankState mine;
  for (std::size_t i = 0; i < n; ++i) {
    mine.next = std::min(mine.next, lanes[i]->queue.next_time());
    for (auto const& box : incoming[i]) mine.next = std::min(mine.next, box.earliest);
    for (std::size_t r = 0; i != 0 && r < map.ranks(); ++r) {
      auto& box = lanes[i]->outgoing[n + r];
      for (auto const& e : box.events) boxes[n + r].put(e);
      box.clear();
    }
  }
  mine.flags = stop_wanted ? kStopFlag : 0;
  arrived.clear();
  auto const done = transport.exchange(mine, std::span(boxes).subspan(n, map.ranks()), arrived, rank_states);
  profile.bytes_sent += done.bytes_sent;
  deliver_from_ranks();
  global_next = done.first;
  remote_mail = EventQueue::kNever;
  for (std::uint32_t r = 0; r < map.ranks(); ++r) {
    remote_next[r] = rank_states[r].next;
    remote_mail = std::min(remote_mail, rank_states[r].mail);
    stop = stop || (rank_states[r].flags & kStopFlag) != 0;
  }
  ++profile.exchanges;
  profile.blocked_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

RunState Engine::Impl::run(Time end, std::atomic<bool>& stop) {
  for (;;) {
    bool moved = true;
    while (moved && !stop.load(std::memory_order_relaxed)) moved = step(end);
    if (map.ranks() == 1) {
      global_next =
          *std::min_element(next.begin(), next.begin() + (merged ? 1 : static_cast<int>(next.size())));
      if (moved) {
        stop.store(false, std::memory_order_relaxed);
        return RunState::stopped;
      }
    } else {
      bool stopped = false;
      exchange(stop.load(std::memory_order_relaxed), stopped);
      if (stopped) {
        stop.store(false, std::memory_order_relaxed);
        return RunState::stopped;
      }
      if (global_next < end) continue;
    }
    return global_next == EventQueue::kNever ? RunState::drained : RunState::reached;
  }
}

}  // namespace farfault
