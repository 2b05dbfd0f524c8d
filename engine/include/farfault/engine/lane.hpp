// A lane: the partitions that one worker runs as one sequence of events, with their queue and their outgoing
// mail.
//
// How partitions are laid onto lanes is a matter of the machine the simulator runs on and never shows in a
// result. Events for another lane wait in a mailbox per destination until the next synchronization. Not
// thread-safe: one worker at a time; mailboxes change hands between rounds (engine.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "farfault/engine/event_queue.hpp"
#include "farfault/engine/path_recorder.hpp"

namespace farfault {

class AnyComponent;
class Lane;

using Handler = void (*)(AnyComponent&, Lane&, Event const&);

struct Mailbox {
  std::vector<Event> events;
  Time earliest = EventQueue::kNever;

  void put(Event const& e) { place(e.when, e.sequence, e.to, e.from).payload = e.payload; }
  // The caller writes the payload.
  Event& place(Time when, std::uint64_t sequence, PortId to, PortId from) {
    if (when < earliest) earliest = when;
    return events.emplace_back(Event{when, sequence, to, from, {}});
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
  Lane(std::uint32_t index, Duration lookahead, std::vector<Receiver> const& receivers)
      : queue(lookahead), index_(index), receivers_(receivers.data()) {}

  // `lane_of_port` gives the lane, or mailbox of another rank, of each port; null when there is no other
  // lane.
  void connect(std::uint16_t const* lane_of_port, std::size_t mailboxes) {
    lane_of_port_ = lane_of_port;
    if (outgoing.size() < mailboxes) outgoing.resize(mailboxes);
  }

  // Null: nothing is recorded.
  void record_path(PathRecorder* recorder) { recorder_ = recorder; }

  // Sends an event of this key; the caller writes its payload before it does anything else with the lane.
  Event& send(Time when, std::uint64_t sequence, PortId to, PortId from) {
    if (recorder_ != nullptr) [[unlikely]]
      recorder_->sent(from, sequence);
    if (lane_of_port_ != nullptr) {
      auto const lane = lane_of_port_[to];
      if (lane != index_) return outgoing[lane].place(when, sequence, to, from);
    }
    return queue.place(when, sequence, to, from);
  }

  // Handles events earlier than `horizon`, at most `limit`; returns how many.
  std::uint64_t run(Time horizon, std::uint64_t limit);

  EventQueue queue;
  std::vector<Mailbox> outgoing;  // by destination lane, then by rank
  std::uint64_t handled = 0;
  Time last_event{};                // the time of the last event handled
  std::vector<ComponentId> worked;  // see Engine::take_worked()

 private:
  void note(AnyComponent& component);

  std::uint32_t index_;
  std::uint16_t const* lane_of_port_ = nullptr;
  Receiver const* receivers_;
  PathRecorder* recorder_ = nullptr;
  AnyComponent const* handling_ = nullptr;  // whose event is, or was last, handled
};

}  // namespace farfault
