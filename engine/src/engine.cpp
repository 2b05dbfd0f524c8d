#include "farfault/engine/engine.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "lanes.hpp"
#include "workers.hpp"

namespace farfault {

namespace {

constexpr std::uint64_t kStretch = 1 << 15;  // events between looks at the stop flag
constexpr std::uint64_t kTrialRounds = 64;   // rounds over which density is judged
constexpr std::uint64_t kDenseRound = 48;    // events a round that are worth sharing it
constexpr std::uint64_t kShortMerge =
    1 << 14;  // events run merged before the next trial; doubles when it fails
constexpr std::uint64_t kLongMerge = 1 << 22;
constexpr std::uint64_t kStopFlag = 1;

Time plus(Time t, Duration d) {
  return t == Time::max() || d == Duration::max() ? Time::max() : t + d;
}

}  // namespace

struct Engine::Impl {
  Impl(System& s, Placement p, EngineOptions o, Transport& t)
      : system(s),
        options(o),
        transport(t),
        map(s, std::move(p), o, t.rank(), t.ranks()),
        workers(o.threads, map.local_lanes(), o.bind_threads) {}

  System& system;
  EngineOptions options;
  Transport& transport;
  LaneMap map;
  Workers workers;
  std::vector<std::unique_ptr<Lane>> lanes;
  std::vector<std::vector<Mailbox>> incoming;  // [to][from]
  std::vector<Time> next;                      // by local lane, mail included
  std::vector<Time> horizon;
  std::vector<Time> remote_next;              // by rank, as of the last exchange
  Time remote_mail = EventQueue::kNever;      // the first event then under way between other ranks
  std::vector<std::uint64_t> handled_before;  // by local lane, when the round began
  std::vector<Event> arrived;
  std::vector<Transport::RankState> rank_states;
  std::vector<Event> moving;
  Time global_next = EventQueue::kNever;

  bool merged = false;
  std::uint64_t merge_length = kShortMerge;
  std::uint64_t merged_left = 0;
  std::uint64_t trial_rounds = 0;
  std::uint64_t trial_events = 0;

  EngineProfile profile;
  std::optional<PathRecorder> recorder;

  void build();
  RunState run(Time end, std::atomic<bool>& stop);
  bool step(Time end);  // false when no local lane may move
  void swap_mail();
  void deliver(std::uint32_t lane);
  void compute_horizons(Time end);
  void align_horizons(std::uint32_t lanes_in_use);
  void merge();
  void split();
  void judge_density(std::uint64_t events);
  void exchange(bool stop_wanted, bool& stop);
};

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
  // Before the first exchange, other ranks may have events from time zero on.
  remote_next.assign(map.ranks(), Time{});
  for (ComponentId id = 0; id < system.component_count(); ++id)
    if (map.is_local(id)) system.component(id).create_state();
  for (auto const& e : system.initial_) {
    auto const id = system.receivers_[e.to].component->id();
    if (map.is_local(id)) lanes[map.lane_of(id)]->queue.push(e);
  }
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
    for (auto const& e : box.events) lanes[lane]->queue.push(e);
    box.clear();
  }
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
  if (runnable == 1 || workers.threads() == 1) {
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
  deliver(0);
  for (std::uint32_t i = 1; i < lanes.size(); ++i) {
    deliver(i);
    lanes[i]->queue.drain([&](Event const& e) { all.queue.push(e); });
    // Mail for other ranks moves too: the merged lane speaks for all.
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
  for (auto const& e : arrived) lanes[merged ? 0 : map.lane_of_port()[e.to]]->queue.push(e);
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

Engine::Engine(System& system, Placement placement, EngineOptions options, Transport& transport) {
  system.validate();
  if (options.record_path) {
    if (transport.ranks() != 1) throw UserError("the critical path can only be recorded on one rank");
    options.threads = 1;
    options.merge_lanes = true;
  }
  impl_ = std::make_unique<Impl>(system, std::move(placement), options, transport);
  impl_->build();
}

Engine::~Engine() = default;

RunState Engine::run_until(Time end) {
  auto state = RunState::drained;
  impl_->workers.run([&] { state = impl_->run(end, stop_); });
  return state;
}

bool Engine::is_local(ComponentId id) const {
  return impl_->map.is_local(id);
}

std::uint32_t Engine::rank_of(ComponentId id) const {
  return impl_->map.rank_of(id);
}

Time Engine::last_event() const {
  Time last{};
  for (auto const& lane : impl_->lanes) last = std::max(last, lane->last_event);
  return Time{Duration{
      static_cast<std::int64_t>(impl_->transport.max(static_cast<std::uint64_t>(picoseconds(last))))}};
}

Time Engine::next_event() const {
  return impl_->global_next;
}

std::uint64_t Engine::state_digest() {
  std::uint64_t sum = 0;
  for (ComponentId id = 0; id < impl_->system.component_count(); ++id) {
    if (!impl_->map.is_local(id)) continue;
    Hasher hasher;
    hasher.mix(id);
    impl_->system.component(id).hash(hasher);
    sum += hasher.value();
  }
  return impl_->transport.sum(sum);
}

// Stands in saved state where the last component of a rank was.
constexpr ComponentId kEndOfComponents = ~ComponentId{0};

std::vector<std::byte> Engine::save() {
  auto& i = *impl_;
  std::vector<std::byte> bytes;
  Saver saver(bytes);
  std::vector<std::byte> state;
  for (ComponentId id = 0; id < i.system.component_count(); ++id) {
    if (!i.map.is_local(id)) continue;
    state.clear();
    Saver component(state);
    i.system.component(id).save(component);
    saver(id, state);
  }
  auto end = kEndOfComponents;
  saver(end);
  std::vector<Event> events;
  i.swap_mail();
  for (std::uint32_t lane = 0; lane < i.lanes.size(); ++lane) {
    i.lanes[lane]->queue.for_each([&](Event const& e) { events.push_back(e); });
    for (auto const& box : i.incoming[lane])
      events.insert(events.end(), box.events.begin(), box.events.end());
  }
  std::sort(events.begin(), events.end(), precedes);
  saver(events);
  return bytes;
}

void Engine::load(std::vector<std::vector<std::byte>> const& parts) {
  auto& i = *impl_;
  for (auto& lane : i.lanes) lane->queue.drain([](Event const&) {});
  std::vector<bool> seen(i.system.component_count());
  for (auto const& part : parts) {
    Loader loader(part);
    for (;;) {
      ComponentId id = 0;
      loader(id);
      if (id == kEndOfComponents) break;
      if (id >= i.system.component_count() || seen[id]) throw UserError("saved state is of another model");
      seen[id] = true;
      std::vector<std::byte> state;
      loader(state);
      if (!i.map.is_local(id)) continue;
      Loader component(state);
      i.system.component(id).load(component);
      if (!component.at_end())
        throw UserError("saved state of " + i.system.component(id).path() + " is too long");
    }
    std::vector<Event> events;
    loader(events);
    for (auto const& e : events) {
      if (e.to >= i.system.receivers_.size()) throw UserError("a saved event is for no port of this model");
      auto const id = i.system.receivers_[e.to].component->id();
      if (i.map.is_local(id)) i.lanes[i.merged ? 0 : i.map.lane_of(id)]->queue.push(e);
    }
    if (!loader.at_end()) throw UserError("saved state is too long");
  }
  for (ComponentId id = 0; id < i.system.component_count(); ++id)
    if (!seen[id]) throw UserError("saved state lacks " + i.system.component(id).path());
}

std::optional<PathProfile> Engine::critical_path() const {
  if (!impl_->recorder) return std::nullopt;
  return impl_->recorder->profile();
}

EngineProfile Engine::profile() const {
  auto p = impl_->profile;
  for (auto const& lane : impl_->lanes) {
    p.events += lane->handled;
    p.lane_events.push_back(lane->handled);
  }
  return p;
}

std::uint64_t Engine::pending_events() const {
  std::uint64_t n = 0;
  for (auto const& lane : impl_->lanes) n += lane->queue.size();
  return n;
}

}  // namespace farfault
