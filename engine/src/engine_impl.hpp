// Private: the lanes of an engine and how they are synchronized (rounds.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "farfault/engine/engine.hpp"
#include "lanes.hpp"
#include "workers.hpp"

namespace farfault {

struct Engine::Impl {
  Impl(System& s, Placement p, EngineOptions o, Transport& t);

  RunState run(Time end, std::atomic<bool>& stop);
  // Drops every pending event, wherever it is, and what is known of other ranks.
  void forget_events();
  // Events of this rank, those in mailboxes included, in no particular order; and how many there are.
  void for_each_pending(std::function<void(Event const&)> const& f) const;
  std::uint64_t pending() const;
  // The time of the last event handled on this rank.
  Time last_event() const;
  Lane& lane_of(ComponentId local) { return *lanes[merged ? 0 : map.lane_of(local)]; }

  System& system;
  EngineOptions options;
  Transport& transport;
  LaneMap map;
  Workers workers;
  std::vector<std::unique_ptr<Lane>> lanes;
  Time last_loaded{};  // the last event before the save that was loaded
  Time global_next = EventQueue::kNever;
  EngineProfile profile;
  std::optional<PathRecorder> recorder;

 private:
  void build();
  bool step(Time end);  // false when no local lane may move
  void swap_mail();
  void deliver(std::uint32_t lane);
  void deliver_from_ranks();
  [[noreturn]] void late(Event const& e, Time handled) const;
  void compute_horizons(Time end);
  void align_horizons(std::uint32_t lanes_in_use);
  void merge();
  void split();
  void judge_density(std::uint64_t events);
  void exchange(bool stop_wanted, bool& stop);

  std::vector<std::vector<Mailbox>> incoming;  // [to][from]
  std::vector<Time> before_merge;              // by local lane: its last event then; 0 when lanes are apart
  std::vector<Time> next;                      // by local lane, mail included
  std::vector<Time> horizon;
  std::vector<Time> remote_next;              // by rank, as of the last exchange
  Time remote_mail = EventQueue::kNever;      // the first event then under way between other ranks
  std::vector<std::uint64_t> handled_before;  // by local lane, when the round began
  std::uint64_t events_of_round = 0;          // of the last one that ran several lanes
  std::vector<Event> arrived;
  std::vector<Transport::RankState> rank_states;
  std::vector<Event> moving;

  bool merged = false;
  std::uint64_t merge_length;
  std::uint64_t merged_left = 0;
  std::uint64_t trial_rounds = 0;
  std::uint64_t trial_events = 0;
};

}  // namespace farfault
