// SPDX-License-Identifier: Apache-2.0
// Private: the lanes of an engine and how they are synchronized (rounds.cpp, exchange.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "exchange.hpp"
#include "farfault/engine/engine.hpp"
#include "lanes.hpp"
#include "workers.hpp"

namespace farfault {

struct Engine::Impl {
  Impl(System& s, Placement p, EngineOptions o, Transport& t);

  RunState run(Time end, std::atomic<bool>& stop);
  // Drops every pending event, wherever it is, and all bounds of other ranks.
  void forget_events();
  // Events of this rank, in no particular order, and their number. Only between runs, when no mail is
  // in flight.
  void for_each_pending(std::function<void(Event const&)> const& f) const;
  std::uint64_t pending() const;
  // The time of the last event handled on this rank.
  Time last_event() const;

  System& system;
  EngineOptions options;
  Transport& transport;
  LaneMap map;
  Horizons horizons;
  NeighbourBounds bounds;
  Workers workers;
  std::vector<std::unique_ptr<Lane>> lanes;
  Time last_loaded{};  // the last event before the loaded save
  Time global_next = EventQueue::kNever;
  EngineProfile profile;
  std::optional<PathRecorder> recorder;
  std::optional<Observation> observation;
  std::uint64_t watched_every = 0;  // exchanges
  std::function<void()> watch;

  void put(Event const& e);  // into the queue of its lane

 private:
  // Mail that a lane's own thread delivers at its next turn.
  struct Inbox {
    std::vector<std::uint32_t> senders;  // lanes whose `handed` box for it is not empty
    std::vector<std::uint32_t> arrived;  // positions in `arrived`
    bool empty() const { return senders.empty() && arrived.empty(); }
  };

  void build();
  bool as_one() const { return merged || lanes.size() == 1; }
  bool step(Time end);  // false if no local lane may advance
  bool step_as_one(Time end);
  void choose_turns();
  void take_turn(std::uint32_t lane);
  void hand_over(std::uint32_t lane);
  void take_in(std::uint32_t lane);
  void take_in_all();
  [[noreturn]] void late(Event const& e, Time handled) const;
  void merge();
  void split();
  void judge_density(std::uint64_t beside_longest);
  std::optional<Transport::Summary> exchange(Time end, bool stop_wanted);  // of all ranks, if known
  void sort_arrived();

  std::vector<Inbox> inboxes;  // by local lane
  std::vector<std::vector<Mailbox>>
      handed;                     // [from][to]: mail of an earlier round, for the receiver to deliver
  std::vector<Mailbox> to_peers;  // by peer: mail of all lanes since the last exchange
  std::vector<Transport::Neighbour> neighbours;  // the peers
  std::vector<Time> before_merge;     // by local lane: its last event then; 0 if lanes are separate
  std::vector<Workers::Turn> turns;   // the lanes of a round
  std::vector<std::uint64_t> cost;    // by local lane: events of its last turn
  std::uint32_t runnable = 0;         // of the turns
  std::uint64_t events_of_round = 0;  // of the last round of several lanes
  std::vector<Event> arrived;
  std::vector<Event> moving;

  bool merged = false;
  std::uint64_t merge_length;
  std::uint64_t merged_left = 0;
  std::uint64_t trial_rounds = 0;
  std::uint64_t trial_events = 0;
};

}  // namespace farfault
