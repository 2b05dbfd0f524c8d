// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/event_queue.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace farfault {

namespace {

constexpr unsigned kMaxBits = 20;        // maximum bits of a time within a window
constexpr std::uint32_t kFewEvents = 8;  // windows of up to this many events are sorted without keys
constexpr unsigned kOneKeyBits = 7;      // bits of the number of an event in a window
constexpr std::size_t kOneKey = 1U << kOneKeyBits;  // up to this many events are sorted by one key each
constexpr std::size_t kInsertionSort = 32;          // below this many keys, insertion sort is the fastest

void insertion_sort(std::uint64_t* keys, std::size_t n) {
  for (std::size_t i = 1; i < n; ++i) {
    auto const key = keys[i];
    auto j = i;
    for (; j > 0 && keys[j - 1] > key; --j) keys[j] = keys[j - 1];
    keys[j] = key;
  }
}

static_assert(kMaxBits + 32 + kOneKeyBits <= 64);

std::uint64_t within_window(Event const& e, Time earliest) {
  return static_cast<std::uint64_t>(picoseconds(e.when - earliest));
}

}  // namespace

EventQueue::EventQueue(Duration lookahead) {
  auto const ps = static_cast<std::uint64_t>(std::max<std::int64_t>(1, picoseconds(lookahead)));
  // Windows of one picosecond would need 2^64 windows: use two picoseconds.
  auto const bits = std::clamp(static_cast<unsigned>(std::bit_width(ps)) - 1, 1U, kMaxBits);
  windows_per_ps_ = std::uint64_t{1} << (64 - bits);
  make_bins(bits);
}

EventQueue::EventQueue(Clock cycle) {
  __extension__ using Wide = unsigned __int128;
  constexpr std::uint64_t kPicosecondsPerSecond = 1'000'000'000'000;
  auto const hz =
      std::clamp(cycle.hertz(), (kPicosecondsPerSecond >> kMaxBits) + 1, kPicosecondsPerSecond / 2);
  windows_per_ps_ = static_cast<std::uint64_t>((Wide{hz} << 64) / kPicosecondsPerSecond) + 1;
  before_edge_ = kPicosecondsPerSecond % hz == 0 ? 0 : 1;
  make_bins(static_cast<unsigned>(std::bit_width(kPicosecondsPerSecond / hz)));
}

void EventQueue::make_bins(unsigned window_bits) {
  window_bits_ = window_bits;
  auto const last = window_of(Time::max());
  auto const levels = (static_cast<unsigned>(std::bit_width(last)) + kBinBits - 1) / kBinBits;
  static_assert(std::is_trivially_copyable_v<Bin> && std::is_trivially_destructible_v<Bin>);
  auto const bins = std::size_t{levels} * kBins;
  auto room = (bins + 1) * sizeof(Bin);
  void* memory = std::calloc(room, 1);
  if (memory == nullptr) throw std::bad_alloc();
  void* aligned = memory;
  std::align(alignof(Bin), bins * sizeof(Bin), aligned, room);
  bins_ = {static_cast<Bin*>(aligned), FreeBins{memory}};
  filled_.resize(levels);
  counts_.resize(std::size_t{1} << ((window_bits + 1) / 2));
  order_.resize(kFewEvents);
}

inline void EventQueue::add_chunk(std::uint32_t level_and_bin) {
  auto& bin = bins_[level_and_bin];
  auto const b = level_and_bin & (kBins - 1);
  filled_[level_and_bin >> kBinBits][b / 64] |= std::uint64_t{1} << (b % 64);
  auto const taken = take_chunk();
  before_[taken] = bin.last_chunk();
  bin.after_last_chunk = taken + 1;
  bin.next = chunk(taken);
}

inline Event& EventQueue::append(std::uint32_t level_and_bin, Time when) {
  auto& bin = bins_[level_and_bin];
  if (bin.full()) add_chunk(level_and_bin);
  bin.note_time(when);
  return *bin.next++;
}

// Empties a bin; its chunks pass to the caller.
inline EventQueue::Bin EventQueue::take(std::uint32_t level_and_bin) {
  auto const b = level_and_bin & (kBins - 1);
  filled_[level_and_bin >> kBinBits][b / 64] &= ~(std::uint64_t{1} << (b % 64));
  return std::exchange(bins_[level_and_bin], Bin{});
}

void EventQueue::grow() {
  auto const first = static_cast<std::uint32_t>(before_.size());
  constexpr std::uint32_t kChunksPerSlab = 1U << (kSlabBits - kChunkBits);
  slabs_.push_back(std::make_unique_for_overwrite<Chunk[]>(kChunksPerSlab));
  before_.resize(first + kChunksPerSlab, kNone);
  free_chunks_.resize(before_.size());
  for (auto chunk = first + kChunksPerSlab; chunk > first; --chunk) free_chunk(chunk - 1);
}

Event& EventQueue::place_elsewhere(Time when, std::uint64_t sequence, PortId to, PortId from) {
  ++size_;
  auto const window = window_of(when);
  if (window <= open_window_) return place_near(when, sequence, to, from);
  return write_key(append(level_bin(window), when), when, sequence, to, from);
}

Event& EventQueue::place_near(Time when, std::uint64_t sequence, PortId to, PortId from) {
  std::uint32_t slot = 0;
  if (near_free_.empty()) {
    slot = static_cast<std::uint32_t>(near_slots_.size());
    near_slots_.emplace_back();
  } else {
    slot = near_free_.back();
    near_free_.pop_back();
  }
  auto& e = write_key(near_slots_[slot], when, sequence, to, from);
  near_.push_back({when, slot});
  auto i = near_.size() - 1;
  auto const moving = near_[i];
  while (i > 0) {
    auto const parent = (i - 1) / 4;
    if (!near_first(moving, near_[parent])) break;
    near_[i] = near_[parent];
    i = parent;
  }
  near_[i] = moving;
  return e;
}

Event EventQueue::pop_near() {
  auto const slot = near_.front().slot;
  auto const moving = near_.back();
  near_.pop_back();
  if (!near_.empty()) {
    std::size_t i = 0;
    for (;;) {
      auto const first = 4 * i + 1;
      if (first >= near_.size()) break;
      auto best = first;
      auto const last = std::min(first + 4, near_.size());
      for (auto child = first + 1; child < last; ++child)
        if (near_first(near_[child], near_[best])) best = child;
      if (!near_first(near_[best], moving)) break;
      near_[i] = near_[best];
      i = best;
    }
    near_[i] = moving;
  }
  near_free_.push_back(slot);
  return near_slots_[slot];
}

void EventQueue::close_window() {
  if (open_chunk_ != kNone) free_chunk(std::exchange(open_chunk_, kNone));
  for (auto const chunk : open_chunks_) free_chunk(chunk);
  open_chunks_.clear();
  sorted_ = 0;
  cursor_ = 0;
}

inline std::uint32_t EventQueue::first_bin() const {
  for (std::uint32_t l = 0; l < filled_.size(); ++l) {
    auto const& filled = filled_[l];
    auto const here = static_cast<std::uint32_t>(open_window_ >> (l * kBinBits)) & (kBins - 1);
    // Bins at or before the open window's own are empty at every level.
    for (std::uint32_t word = here / 64; word < kBins / 64; ++word)
      if (filled[word] != 0)
        return (l << kBinBits) | (word * 64 + static_cast<std::uint32_t>(std::countr_zero(filled[word])));
  }
  return kNone;
}

Time EventQueue::first_binned() const {
  auto const first = first_bin();
  return first == kNone ? kNever : bins_[first].earliest();
}

// Compares the events directly: most windows have one event, or a few.
inline void EventQueue::sort_few(Event const* events, std::uint32_t n) {
  auto* const order = order_.data();
  sorted_ = n;
  order[0] = events;
  for (std::uint32_t i = 1; i < n; ++i) {
    auto const* const e = events + i;
    auto j = i;
    for (; j > 0 && precedes(*e, *order[j - 1]); --j) order[j] = order[j - 1];
    order[j] = e;
  }
}

// Up to 8 events are compared directly; up to 128 are sorted by one key of time, port and number; more are
// sorted by time (counting sort), then by port.
bool EventQueue::open_next(Time horizon) {
  close_window();
  auto const first = first_bin();
  if (first == kNone) return false;
  if (bins_[first].earliest() >= horizon) return false;
  auto open = take(first);
  open_window_ = window_of(open.earliest());
  if (first >= kBins) open = spread(open);
  if (auto const n = open.used(); n <= kFewEvents && before_[open.last_chunk()] == kNone) {
    open_chunk_ = open.last_chunk();
    sort_few(open.next - n, n);
  } else {
    sort_window(open);
  }
  return true;
}

// Moves the events of a coarse bin to finer ones; returns the bin of the open window.
EventQueue::Bin EventQueue::spread(Bin const& coarse) {
  auto const open_bin = static_cast<std::uint32_t>(open_window_) & (kBins - 1);
  auto used = coarse.used();
  for (auto c = coarse.last_chunk(); c != kNone; used = kChunk) {
    for (std::uint32_t i = 0; i < used; ++i) {
      auto const& e = chunk(c)[i];
      auto const window = window_of(e.when);
      append(window == open_window_ ? open_bin : level_bin(window), e.when) = e;
    }
    auto const before = before_[c];
    free_chunk(c);
    c = before;
  }
  return take(open_bin);
}

// A stable counting sort by some bits of the keys.
void EventQueue::radix_pass(std::uint64_t const* __restrict in, std::uint64_t* __restrict out, std::size_t n,
                            unsigned bit, unsigned bits) {
  auto* __restrict const counts = counts_.data();
  auto const values = std::size_t{1} << bits;
  std::fill_n(counts, values, 0U);
  for (std::size_t i = 0; i < n; ++i) ++counts[(in[i] >> bit) & (values - 1)];
  std::uint32_t sum = 0;
  for (std::size_t v = 0; v < values; ++v) {
    auto const c = counts[v];
    counts[v] = sum;
    sum += c;
  }
  for (std::size_t i = 0; i < n; ++i) out[counts[(in[i] >> bit) & (values - 1)]++] = in[i];
}

// The events of a bin, in order.
void EventQueue::sort_window(Bin const& bin) {
  keys_.clear();
  auto used = bin.used();
  std::size_t n = 0;
  for (auto c = bin.last_chunk(); c != kNone; c = before_[c], used = kChunk) {
    open_chunks_.push_back(c);
    n += used;
  }
  reserve_order(n);
  if (n <= kOneKey)
    sort_one_key(bin);
  else
    sort_times(bin);
}

// Keys: the time within the window, the port, and the number of the event in the window.
void EventQueue::sort_one_key(Bin const& bin) {
  unsorted_.clear();
  auto used = bin.used();
  for (auto const c : open_chunks_) {
    auto const* const events = chunk(c);
    for (std::uint32_t i = 0; i < used; ++i) {
      keys_.push_back(within_window(events[i], bin.earliest()) << (32 + kOneKeyBits) |
                      std::uint64_t{events[i].to} << kOneKeyBits | unsorted_.size());
      unsorted_.push_back(events + i);
    }
    used = kChunk;
  }
  auto const n = keys_.size();
  if (n <= kInsertionSort)
    insertion_sort(keys_.data(), n);
  else
    std::sort(keys_.begin(), keys_.end());
  for (std::size_t i = 0; i < n;) {
    auto j = i;
    for (; j < n && (keys_[j] >> kOneKeyBits) == (keys_[i] >> kOneKeyBits); ++j)
      order_[j] = unsorted_[keys_[j] & (kOneKey - 1)];
    if (j - i > 1) sort_one_port(i, j);
    i = j;
  }
}

// Doubles the capacity when a window exceeds it, to avoid an allocation for each larger window.
void EventQueue::reserve_order(std::size_t n) {
  if (order_.size() < n) order_.resize(std::max(2 * order_.size(), n));
  sorted_ = n;
}

// Keys: the time within the window and the place in the pool; then sorted by port.
void EventQueue::sort_times(Bin const& bin) {
  auto used = bin.used();
  std::uint64_t times = 0;
  for (auto const c : open_chunks_) {
    auto const* const events = chunk(c);
    for (std::uint32_t i = 0; i < used; ++i) {
      auto const time = within_window(events[i], bin.earliest());
      times |= time;
      keys_.push_back(time << 32 | c << kChunkBits | i);
    }
    used = kChunk;
  }
  auto const n = keys_.size();
  auto const low_bits = window_bits_ / 2;
  auto const high_bits = window_bits_ - low_bits;
  if (times == 0) {
    // All events have the same time.
  } else if (n < (std::size_t{1} << high_bits) / 4) {
    std::sort(keys_.begin(), keys_.end());
  } else {
    if (spare_keys_.capacity() < n) spare_keys_.reserve(keys_.capacity());
    spare_keys_.resize(n);
    radix_pass(keys_.data(), spare_keys_.data(), n, 32, low_bits);
    radix_pass(spare_keys_.data(), keys_.data(), n, 32 + low_bits, high_bits);
  }
  for (std::size_t i = 0; i < n;) {
    auto j = i + 1;
    while (j < n && (keys_[j] >> 32) == (keys_[i] >> 32)) ++j;
    for (auto k = i; j - i > 1 && k < j; ++k) {
      auto const slot = static_cast<std::uint32_t>(keys_[k]);
      keys_[k] = static_cast<std::uint64_t>(at(slot).to) << 32 | slot;
    }
    sort_ports(i, j);
    i = j;
  }
}

// Sorts keys of one time, with the port in the upper bits, and writes the events in order.
void EventQueue::sort_ports(std::size_t begin, std::size_t end) {
  if (end - begin <= kInsertionSort)
    insertion_sort(keys_.data() + begin, end - begin);
  else
    std::sort(keys_.begin() + static_cast<std::ptrdiff_t>(begin),
              keys_.begin() + static_cast<std::ptrdiff_t>(end));
  for (auto i = begin; i < end;) {
    auto j = i;
    for (; j < end && (keys_[j] >> 32) == (keys_[i] >> 32); ++j)
      order_[j] = &at(static_cast<std::uint32_t>(keys_[j]));
    if (j - i > 1) sort_one_port(i, j);
    i = j;
  }
}

void EventQueue::sort_one_port(std::size_t begin, std::size_t end) {
  std::sort(order_.begin() + static_cast<std::ptrdiff_t>(begin),
            order_.begin() + static_cast<std::ptrdiff_t>(end),
            [](Event const* a, Event const* b) { return precedes_at_same_time(*a, *b); });
}

}  // namespace farfault
