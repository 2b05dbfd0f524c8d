// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/path_recorder.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <unordered_map>

#include "free_cores.hpp"

namespace farfault {

namespace {

constexpr auto kSchedules = PathProfile::kCores.size();
constexpr std::uint64_t kFewChunks = 1024;  // of steps, about 9 MiB: not worth discarding

double now() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Point {  // completion time, along the chains that lead to it
  std::uint64_t path = 0;
  std::uint64_t component_path = 0;
  double host_path = 0;
  std::array<std::uint64_t, kSchedules> finish{};

  void wait_for(Point const& other) {
    path = std::max(path, other.path);
    component_path = std::max(component_path, other.component_path);
    host_path = std::max(host_path, other.host_path);
    for (std::size_t i = 0; i < kSchedules; ++i) finish[i] = std::max(finish[i], other.finish[i]);
  }
};

struct Record {
  Point point;
  std::uint32_t uses = 0;  // events in flight that this one sent
};

struct Key {
  PortId from;
  std::uint64_t sequence;
  bool operator==(Key const&) const = default;
};

struct KeyHash {
  std::size_t operator()(Key const& k) const {
    return static_cast<std::size_t>((k.sequence * 0x9E3779B97F4A7C15ULL) ^ (std::uint64_t{k.from} << 20));
  }
};

}  // namespace

struct PathRecorder::Impl {
  Impl(std::uint32_t partitions, std::vector<std::uint32_t> const& of, std::uint64_t pending)
      : partition_of(of),
        partition_done(partitions),
        component_done(of.size()),
        partition_events(partitions),
        of_unknown_senders(pending) {
    for (auto const n : PathProfile::kCores) cores.emplace_back(n);
  }

  // The record of an event that has sent `uses` events.
  std::uint32_t keep(Point const& point, std::size_t uses) {
    std::uint32_t id = 0;
    if (free_records.empty()) {
      id = static_cast<std::uint32_t>(records.size());
      records.emplace_back();
    } else {
      id = free_records.back();
      free_records.pop_back();
    }
    records[id] = {point, static_cast<std::uint32_t>(uses)};
    return id;
  }

  std::uint64_t chunks_kept() const {
    std::uint64_t n = 0;
    for (auto const& c : cores) n += c.chunks_kept();
    return n;
  }

  // All later events descend from the pending events, and start after their senders are done.
  void forget_the_past() {
    if (of_unknown_senders == 0) {
      std::array<std::uint64_t, kSchedules> earliest{};
      earliest.fill(std::numeric_limits<std::uint64_t>::max());
      for (auto const& r : records)
        for (std::size_t i = 0; r.uses != 0 && i < kSchedules; ++i)
          earliest[i] = std::min(earliest[i], r.point.finish[i]);
      for (std::size_t i = 0; i < kSchedules; ++i) cores[i].forget(earliest[i]);
    }
    forget_at = std::max(kFewChunks, 2 * chunks_kept());
  }

  std::vector<std::uint32_t> const& partition_of;
  std::vector<Point> partition_done;
  std::vector<std::uint64_t> component_done;
  std::vector<std::uint64_t> partition_events;
  std::deque<FreeCores> cores;                                // by number of cores
  std::unordered_map<Key, std::uint32_t, KeyHash> sender_of;  // events in flight; looked up, never iterated
  std::vector<Record> records;
  std::vector<std::uint32_t> free_records;
  std::vector<Key> sent;
  std::uint64_t of_unknown_senders;  // pending events
  std::uint64_t forget_at = kFewChunks;
  Point ready;
  std::uint32_t component = 0;
  double began = 0;
  std::uint64_t events = 0;
  double host_ns = 0;
  Point last;
};

PathRecorder::PathRecorder(std::uint32_t partitions, std::vector<std::uint32_t> const& partition_of_component)
    : impl_(std::make_unique<Impl>(partitions, partition_of_component, 0)) {}

PathRecorder::~PathRecorder() = default;

void PathRecorder::restart(std::uint64_t pending) {
  auto const partitions = static_cast<std::uint32_t>(impl_->partition_done.size());
  impl_ = std::make_unique<Impl>(partitions, impl_->partition_of, pending);
}

void PathRecorder::begin(Event const& e, ComponentId component) {
  auto& i = *impl_;
  i.component = component;
  i.ready = i.partition_done[i.partition_of[component]];
  i.ready.component_path = i.component_done[component];
  if (auto const found = i.sender_of.find({e.from, e.sequence}); found != i.sender_of.end()) {
    auto& record = i.records[found->second];
    i.ready.wait_for(record.point);
    if (--record.uses == 0) i.free_records.push_back(found->second);
    i.sender_of.erase(found);
  } else if (i.of_unknown_senders != 0) {
    --i.of_unknown_senders;
  }
  i.sent.clear();
  i.began = now();
}

void PathRecorder::sent(PortId from, std::uint64_t sequence) {
  impl_->sent.push_back({from, sequence});
}

void PathRecorder::end() {
  auto& i = *impl_;
  auto const cost = std::min(now() - i.began, kInterrupted);
  ++i.events;
  i.host_ns += cost;
  auto done = i.ready;
  ++done.path;
  ++done.component_path;
  done.host_path += cost;
  for (std::size_t c = 0; c < kSchedules; ++c) done.finish[c] = i.cores[c].take(done.finish[c]) + 1;
  i.last.wait_for(done);
  auto const partition = i.partition_of[i.component];
  i.partition_done[partition] = done;
  ++i.partition_events[partition];
  i.component_done[i.component] = done.component_path;
  if (!i.sent.empty()) {
    auto const id = i.keep(done, i.sent.size());
    for (auto const& k : i.sent) i.sender_of.emplace(k, id);
  }
  if (i.chunks_kept() > i.forget_at) i.forget_the_past();
}

PathProfile PathRecorder::profile() const {
  auto const& i = *impl_;
  PathProfile p;
  p.events = i.events;
  p.path = i.last.path;
  p.component_path = i.last.component_path;
  p.host_ns = i.host_ns;
  p.host_path_ns = i.last.host_path;
  p.list_schedule = i.last.finish;
  auto const busiest = std::max_element(i.partition_events.begin(), i.partition_events.end());
  p.busiest_partition = static_cast<std::uint32_t>(busiest - i.partition_events.begin());
  p.busiest = *busiest;
  return p;
}

}  // namespace farfault
