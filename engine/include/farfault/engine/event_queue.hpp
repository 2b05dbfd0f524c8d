// SPDX-License-Identifier: Apache-2.0
// The pending events of one partition, in the engine's order.
//
// - Structure: a hierarchical timing wheel, 1,024 bins per level; a bin of the lowest level is one window.
//   Events scheduled inside the open window go to a small heap.
// - Guarantees: pop order is exactly precedes(); no allocation once the pool has grown to the largest number
//   of pending events; any time not before the last popped event may be pushed, in any order.
// - Cost: one append and one 64-byte read per event, and one more move per wheel level that it descends.
// - Limit: not thread-safe.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <vector>

#include "farfault/engine/event.hpp"

namespace farfault {

class EventQueue {
 public:
  static constexpr Time kNever = Time::max();

  // Window: the largest power of two of picoseconds not above `lookahead` (2 to 2^20). No event is scheduled
  // inside the open window if every delay is at least `lookahead`.
  explicit EventQueue(Duration lookahead = 1us);
  // Window: one cycle of the clock (2 to 2^20 ps). For models with most events at its edges: a window then
  // has events of one time, and events sent within the open cycle go to the heap.
  explicit EventQueue(Clock cycle);

  void push(Event const& e) { place(e.when, e.sequence, e.to, e.from).payload = e.payload; }

  // Inserts an event with this key; the caller writes its payload before any other call to the queue.
  Event& place(Time when, std::uint64_t sequence, PortId to, PortId from) {
    auto const window = window_of(when);
    auto& bin = bins_[window & (kBins - 1)];
    if (window <= open_window_ || (window ^ open_window_) >= kBins || bin.full())
      return place_elsewhere(when, sequence, to, from);
    ++size_;
    bin.note_time(when);
    return write_key(*bin.next++, when, sequence, to, from);
  }

  bool empty() const { return size_ == 0; }
  std::uint64_t size() const { return size_; }

  // The time of the first event, or kNever.
  Time next_time() const {
    Time next = kNever;
    if (cursor_ < sorted_) next = order_[cursor_]->when;
    if (!near_.empty() && near_.front().when < next) next = near_.front().when;
    if (next != kNever || size_ == 0) return next;
    return first_binned();
  }

  // Calls f(Event const&) for the first events, in order, while they are earlier than `horizon` and at most
  // `limit` of them; f may push. Returns their number.
  // Prefetch hints for the port of a later event: first fetch_early(PortId), to prefetch what fetch_late()
  // reads, then fetch_late(PortId), to prefetch what f reads. An event may get no hint (windows with up to 9
  // remaining events give none), and an event with a hint may be handled in a later call.
  template <class F, class Early, class Late>
  std::uint64_t run(Time horizon, std::uint64_t limit, F&& f, Early&& fetch_early, Late&& fetch_late);

  // All pending events, in no particular order; the queue is empty afterwards.
  template <class F>
  void drain(F&& f);
  // All pending events, in no particular order; the queue keeps them.
  template <class F>
  void for_each(F&& f) const;

 private:
  static constexpr unsigned kBinBits = 10;
  static constexpr std::uint32_t kBins = 1U << kBinBits;
  static constexpr unsigned kChunkBits = 4;
  static constexpr std::uint32_t kChunk = 1U << kChunkBits;  // events per chunk
  static constexpr unsigned kSlabBits = 12;                  // events per slab
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint64_t kNoWindow = std::numeric_limits<std::uint64_t>::max();

  // Aligned to its size, so that the address after the last event marks the chunk as full.
  struct alignas(sizeof(Event) << kChunkBits) Chunk {
    std::array<Event, kChunk> events;
  };
  // All zero when empty, so that bins can be made of memory that the system has not committed yet.
  struct alignas(32) Bin {
    Event* next = nullptr;               // place of the next event; a multiple of a chunk's size: no room
    std::uint32_t after_last_chunk = 0;  // the last chunk's number, plus 1
    std::int64_t ahead_of_never = 0;     // time from the earliest event to kNever, in ps

    // The last chunk, from which chunks are linked, each to its predecessor.
    std::uint32_t last_chunk() const { return after_last_chunk - 1; }
    Time earliest() const { return kNever - Duration{ahead_of_never}; }
    void note_time(Time when) {
      auto const ahead = picoseconds(kNever - when);
      if (ahead > ahead_of_never) ahead_of_never = ahead;
    }

    bool full() const { return reinterpret_cast<std::uintptr_t>(next) % sizeof(Chunk) == 0; }
    std::uint32_t used() const {  // events in the last chunk
      auto const bytes = reinterpret_cast<std::uintptr_t>(next) % sizeof(Chunk);
      return bytes == 0 ? kChunk : static_cast<std::uint32_t>(bytes / sizeof(Event));
    }
  };
  using Filled = std::array<std::uint64_t, kBins / 64>;  // bit b: bin b has events
  struct Near {
    Time when;
    std::uint32_t slot;
  };

  Event* chunk(std::uint32_t c) const {
    return slabs_[c >> (kSlabBits - kChunkBits)][c & ((1U << (kSlabBits - kChunkBits)) - 1)].events.data();
  }
  Event& at(std::uint32_t i) { return chunk(i >> kChunkBits)[i & (kChunk - 1)]; }
  Event const& at(std::uint32_t i) const { return chunk(i >> kChunkBits)[i & (kChunk - 1)]; }

  // Ascending in time. Exact if a window is a power of two of picoseconds, and for other windows of whole
  // picoseconds up to 2^64 / window ps (1 GHz: 5.1 h); otherwise a time just before an edge may count to the
  // window that starts there.
  std::uint64_t window_of(Time when) const {
    __extension__ using Wide = unsigned __int128;
    auto const ps = static_cast<std::uint64_t>(picoseconds(when)) + before_edge_;
    return static_cast<std::uint64_t>(static_cast<Wide>(ps) * windows_per_ps_ >> 64);
  }

  // The bin of a window later than the open one: the level is the highest group of bits in which they differ.
  std::uint32_t level_bin(std::uint64_t window) const {
    auto const differ = window ^ open_window_;
    if (differ < kBins) [[likely]]
      return static_cast<std::uint32_t>(window) & (kBins - 1);
    auto const level = static_cast<std::uint32_t>(63 - std::countl_zero(differ)) / kBinBits;
    auto const bin = static_cast<std::uint32_t>(window >> (level * kBinBits)) & (kBins - 1);
    return (level << kBinBits) | bin;
  }

  void make_bins(unsigned window_bits);
  // f(level and bin) of each bin that has events.
  template <class F>
  void for_each_filled(F&& f) const {
    for (std::uint32_t word = 0; word < filled_.size() * (kBins / 64); ++word)
      for (auto rest = filled_[word / (kBins / 64)][word % (kBins / 64)]; rest != 0; rest &= rest - 1)
        f(word * 64 + static_cast<std::uint32_t>(std::countr_zero(rest)));
  }
  static Event& write_key(Event& e, Time when, std::uint64_t sequence, PortId to, PortId from) {
    e.when = when;
    e.sequence = sequence;
    e.to = to;
    e.from = from;
    return e;
  }
  // place(), for anything but an append to a bin of the lowest level that has room. Separate, so that place()
  // contains no recursive call.
  Event& place_elsewhere(Time when, std::uint64_t sequence, PortId to, PortId from);

  // Room for one more event in a bin.
  Event& append(std::uint32_t level_and_bin, Time when);

  std::uint32_t take_chunk() {
    if (free_count_ == 0) [[unlikely]]
      grow();
    return free_chunks_[--free_count_];
  }
  void free_chunk(std::uint32_t c) { free_chunks_[free_count_++] = c; }

  void add_chunk(std::uint32_t level_and_bin);
  void grow();
  Event& place_near(Time when, std::uint64_t sequence, PortId to, PortId from);
  Event pop_near();
  bool near_first(Near const& a, Near const& b) const {
    if (a.when != b.when) return a.when < b.when;
    return precedes_at_same_time(near_slots_[a.slot], near_slots_[b.slot]);
  }
  void close_window();
  // Closes the open window, and opens the first one that has events if it starts before `horizon`; false if
  // there is none.
  bool open_next(Time horizon);
  Bin take(std::uint32_t level_and_bin);
  Bin spread(Bin const& coarse);
  void sort_few(Event const* events, std::uint32_t n);
  void sort_window(Bin const& bin);
  void radix_pass(std::uint64_t const* in, std::uint64_t* out, std::size_t n, unsigned bit, unsigned bits);
  void sort_one_key(Bin const& bin);
  void sort_times(Bin const& bin);
  void sort_ports(std::size_t begin, std::size_t end);
  void sort_one_port(std::size_t begin, std::size_t end);
  void reserve_order(std::size_t n);
  Time first_binned() const;
  // The level and bin of the earliest events, or kNone.
  std::uint32_t first_bin() const;

  std::uint64_t windows_per_ps_ = 0;  // times 2^64
  std::uint64_t before_edge_ = 0;     // added to a time: 1 if the edges of windows are rounded down
  unsigned window_bits_ = 0;          // number of bits of a time within a window
  std::uint64_t open_window_ = 0;  // bins hold later windows only; events of this one or before go to near_
  std::uint64_t size_ = 0;

  std::vector<Event const*> order_;  // the open window's events, sorted: the first `sorted_`
  std::size_t sorted_ = 0;
  std::size_t cursor_ = 0;
  std::uint32_t open_chunk_ = kNone;        // the open window's chunk, if it has few events in one chunk
  std::vector<std::uint32_t> open_chunks_;  // the open window's chunks otherwise

  std::vector<Near> near_;  // a 4-ary heap
  std::vector<Event> near_slots_;
  std::vector<std::uint32_t> near_free_;

  // The bins begin at the first multiple of their alignment.
  struct FreeBins {
    void* memory;
    void operator()(Bin*) const { std::free(memory); }
  };
  std::unique_ptr<Bin[], FreeBins> bins_;  // [level][bin]
  std::vector<Filled> filled_;             // [level]
  std::vector<std::unique_ptr<Chunk[]>> slabs_;
  std::vector<std::uint32_t> before_;       // per chunk: the chunk before it in its bin
  std::vector<std::uint32_t> free_chunks_;  // as many as there are chunks; the first `free_count_` count
  std::size_t free_count_ = 0;

  std::vector<std::uint64_t> keys_;
  std::vector<std::uint64_t> spare_keys_;
  std::vector<Event const*> unsorted_;
  std::vector<std::uint32_t> counts_;
};

template <class F, class Early, class Late>
std::uint64_t EventQueue::run(Time horizon, std::uint64_t limit, F&& f, Early&& fetch_early,
                              Late&& fetch_late) {
  constexpr std::size_t kAhead = 3;  // events handled during one fetch; 2 to 5 are equally fast
  std::uint64_t done = 0;
  for (; done < limit; ++done) {
    if (!near_.empty()) [[unlikely]] {
      bool const from_near = cursor_ == sorted_ || [&] {
        auto const& e = *order_[cursor_];
        auto const& n = near_.front();
        return n.when != e.when ? n.when < e.when : precedes_at_same_time(near_slots_[n.slot], e);
      }();
      if (from_near) {
        if (near_.front().when >= horizon) return done;
        auto const e = pop_near();
        --size_;
        f(e);
        continue;
      }
    }
    if (cursor_ == sorted_ && !open_next(horizon)) return done;
    auto const& e = *order_[cursor_];
    if (e.when >= horizon) return done;
    ++cursor_;
    if (cursor_ + 3 * kAhead < sorted_) {
      __builtin_prefetch(order_[cursor_ + 3 * kAhead]);
      fetch_early(order_[cursor_ + 2 * kAhead]->to);
      fetch_late(order_[cursor_ + kAhead]->to);
    }
    --size_;
    f(e);
  }
  return done;
}

template <class F>
void EventQueue::for_each(F&& f) const {
  for (std::size_t i = cursor_; i < sorted_; ++i) f(*order_[i]);
  for (auto const& n : near_) f(near_slots_[n.slot]);
  for_each_filled([&](std::uint32_t level_and_bin) {
    auto const& bin = bins_[level_and_bin];
    auto used = bin.used();
    for (auto c = bin.last_chunk(); c != kNone; c = before_[c], used = kChunk)
      for (std::uint32_t i = 0; i < used; ++i) f(chunk(c)[i]);
  });
}

template <class F>
void EventQueue::drain(F&& f) {
  for_each(f);
  cursor_ = sorted_;
  close_window();
  near_.clear();
  near_slots_.clear();
  near_free_.clear();
  for_each_filled([&](std::uint32_t level_and_bin) {
    auto& bin = bins_[level_and_bin];
    for (auto c = bin.last_chunk(); c != kNone; c = before_[c]) free_chunk(c);
    bin = Bin{};
  });
  for (auto& level : filled_) level.fill(0);
  size_ = 0;
  open_window_ = 0;
}

}  // namespace farfault
