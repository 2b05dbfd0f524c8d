// SPDX-License-Identifier: Apache-2.0
// A lane: the partitions that one worker runs as one sequence of events, with their queue and their outgoing
// mail.
//
// The mapping of partitions to lanes depends on the host and never affects a result. Events for another
// lane wait in a mailbox per destination until the next synchronization, and the lane keeps a list of its
// non-empty mailboxes. Not thread-safe: one worker at a time; mailboxes are handed over between rounds
// (rounds.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "farfault/engine/event_queue.hpp"
#include "farfault/engine/path_recorder.hpp"

namespace farfault {

class AnyComponent;
class Lane;
class Observation;

using Handler = void (*)(AnyComponent&, Lane&, Event const&);

struct Mailbox {
  std::vector<Event> events;
  Time earliest = EventQueue::kNever;

  void put(Event const& e) { place(e.when, e.sequence, e.to, e.from).payload = e.payload; }
  // The caller writes the payload.
  Event& place(Time when, std::uint64_t sequence, PortId to, PortId from) {
    if (when < earliest) earliest = when;
    return events.emplace_back(
        Event{.when = when, .sequence = sequence, .to = to, .from = from, .payload = {}});
  }
  void clear() {
    events.clear();
    earliest = EventQueue::kNever;
  }
};

struct Receiver {
  Handler handler;
  AnyComponent* component;
};

class alignas(64) Lane {
 public:
  Lane(std::uint32_t index, EventQueue empty, std::vector<Receiver> const& receivers)
      : queue(std::move(empty)), index_(index), receivers_(receivers.data()) {}

  // `node_of_port` maps each port to its lane, or to the mailbox of another rank; null for a single
  // lane.
  void connect(std::uint16_t const* node_of_port, std::size_t mailboxes) {
    node_of_port_ = node_of_port;
    if (outgoing.size() < mailboxes) outgoing.resize(mailboxes);
    filled.reserve(mailboxes);
  }

  // Installs observation (observer.hpp); null: restores the handlers of `receivers`.
  void observe(Observation const* observation, std::vector<Receiver> const& receivers);
  static void handle_observed(AnyComponent& component, Lane& lane, Event const& e);

  // Null: no recording.
  void record_path(PathRecorder* recorder) { recorder_ = recorder; }

  // Sends an event with this key; the caller writes its payload before any other call to the lane.
  // Always inline: every message of the model is sent here.
  [[gnu::always_inline]] Event& send(Time when, std::uint64_t sequence, PortId to, PortId from) {
    if (recorder_ != nullptr || leaves(to)) [[unlikely]]
      return send_elsewhere(when, sequence, to, from);
    return queue.place(when, sequence, to, from);
  }

  // Handles events earlier than `horizon`, at most `limit`; returns how many.
  std::uint64_t run(Time horizon, std::uint64_t limit);

  EventQueue queue;
  std::vector<Mailbox> outgoing;      // by destination lane, then by neighbouring rank
  std::vector<std::uint16_t> filled;  // the non-empty mailboxes
  std::uint64_t handled = 0;
  Time last_event{};                // the time of the last event handled
  std::vector<ComponentId> worked;  // see Engine::take_worked()

 private:
  bool leaves(PortId to) const { return node_of_port_ != nullptr && node_of_port_[to] != index_; }
  // send(), if more than an entry in the queue is needed. Separate, so that send() contains no
  // recursive call.
  Event& send_elsewhere(Time when, std::uint64_t sequence, PortId to, PortId from);
  void note(AnyComponent& component);

  std::uint32_t index_;
  std::uint16_t const* node_of_port_ = nullptr;
  Receiver const* receivers_;
  PathRecorder* recorder_ = nullptr;
  AnyComponent const* handling_ = nullptr;  // receiver of the current or last event
  Observation const* observation_ = nullptr;
};

}  // namespace farfault
