#include "farfault/engine/event_queue.hpp"

#include <algorithm>

namespace farfault {

namespace {

constexpr unsigned kMaxShift = 20;
constexpr std::size_t kInsertionSort = 32;  // below this many keys, insertion sort is the fastest

void insertion_sort(std::uint64_t* keys, std::size_t n) {
  for (std::size_t i = 1; i < n; ++i) {
    auto const key = keys[i];
    auto j = i;
    for (; j > 0 && keys[j - 1] > key; --j) keys[j] = keys[j - 1];
    keys[j] = key;
  }
}

}  // namespace

EventQueue::EventQueue(Duration lookahead) {
  auto const ps = static_cast<std::uint64_t>(std::max<std::int64_t>(1, picoseconds(lookahead)));
  shift_ = std::min(kMaxShift, static_cast<unsigned>(std::bit_width(ps)) - 1);
  for (unsigned bits = shift_; bits < 63; bits += kBinBits) levels_.push_back(std::make_unique<Level>());
  counts_.resize(std::size_t{1} << (kMaxShift / 2));
}

void EventQueue::grow() {
  auto const first = static_cast<std::uint32_t>(before_.size());
  constexpr std::uint32_t kChunksPerSlab = 1U << (kSlabBits - kChunkBits);
  slabs_.push_back(std::make_unique_for_overwrite<Event[]>(std::size_t{1} << kSlabBits));
  before_.resize(first + kChunksPerSlab, kNone);
  free_chunks_.reserve(before_.size());
  for (auto chunk = first + kChunksPerSlab; chunk > first; --chunk) free_chunks_.push_back(chunk - 1);
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
  auto& e = near_slots_[slot];
  e.when = when;
  e.sequence = sequence;
  e.to = to;
  e.from = from;
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
  for (auto const chunk : open_chunks_) free_chunks_.push_back(chunk);
  open_chunks_.clear();
  order_.clear();
  cursor_ = 0;
}

std::uint32_t EventQueue::first_bin() const {
  for (std::uint32_t l = 0; l < levels_.size(); ++l) {
    auto const& filled = levels_[l]->filled;
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
  return first == kNone ? kNever : levels_[first >> kBinBits]->bins[first & (kBins - 1)].earliest;
}

bool EventQueue::open_next(Time horizon) {
  auto const first = first_bin();
  if (first == kNone) return false;
  auto& level = *levels_[first >> kBinBits];
  auto const b = first & (kBins - 1);
  auto& bin = level.bins[b];
  if (bin.earliest >= horizon) return false;
  auto open = bin;
  bin = Bin{};
  level.filled[b / 64] &= ~(std::uint64_t{1} << (b % 64));
  open_window_ = static_cast<std::uint64_t>(picoseconds(open.earliest)) >> shift_;
  if (first >= kBins) open = spread(open);
  gather(open);
  sort_window();
  return true;
}

// Moves the events of a coarse bin to finer ones; returns the bin of those that lie in the open window.
EventQueue::Bin EventQueue::spread(Bin const& coarse) {
  auto const open_bin = static_cast<std::uint32_t>(open_window_) & (kBins - 1);
  auto used = coarse.used;
  for (auto chunk = coarse.last_chunk; chunk != kNone; used = kChunk) {
    for (std::uint32_t i = 0; i < used; ++i) {
      auto const& e = at((chunk << kChunkBits) | i);
      auto const window = static_cast<std::uint64_t>(picoseconds(e.when)) >> shift_;
      append(window == open_window_ ? open_bin : level_bin(window), e.when) = e;
    }
    auto const before = before_[chunk];
    free_chunks_.push_back(chunk);
    chunk = before;
  }
  auto& level = *levels_[0];
  auto const open = level.bins[open_bin];
  level.bins[open_bin] = Bin{};
  level.filled[open_bin / 64] &= ~(std::uint64_t{1} << (open_bin % 64));
  return open;
}

void EventQueue::gather(Bin const& bin) {
  auto used = bin.used;
  for (auto chunk = bin.last_chunk; chunk != kNone; chunk = before_[chunk], used = kChunk) {
    open_chunks_.push_back(chunk);
    for (std::uint32_t i = 0; i < used; ++i) order_.push_back((chunk << kChunkBits) | i);
  }
}

void EventQueue::sort_window() {
  auto const n = order_.size();
  auto const mask = (std::uint64_t{1} << shift_) - 1;
  // Grown as order_ is, by doubling: resize() alone would allocate at every new largest window.
  if (keys_.capacity() < n) keys_.reserve(order_.capacity());
  keys_.resize(n);
  std::uint64_t all_or = 0;
  std::uint64_t all_and = ~std::uint64_t{0};
  for (std::size_t i = 0; i < n; ++i) {
    auto const offset = static_cast<std::uint64_t>(picoseconds(at(order_[i]).when)) & mask;
    all_or |= offset;
    all_and &= offset;
    keys_[i] = (offset << 32) | order_[i];
  }
  if (all_or != all_and) {
    auto const low_bits = shift_ / 2;
    auto const high_bits = shift_ - low_bits;
    if (n <= kInsertionSort) {
      insertion_sort(keys_.data(), n);
    } else if (n < (std::size_t{1} << high_bits) / 4) {
      std::sort(keys_.begin(), keys_.end());
    } else {
      if (spare_keys_.capacity() < n) spare_keys_.reserve(order_.capacity());
      spare_keys_.resize(n);
      auto pass = [&](std::vector<std::uint64_t> const& in, std::vector<std::uint64_t>& out, unsigned bit,
                      unsigned bits) {
        auto const digit = (std::uint64_t{1} << bits) - 1;
        std::fill_n(counts_.begin(), std::size_t{1} << bits, 0U);
        for (std::size_t i = 0; i < n; ++i) ++counts_[(in[i] >> bit) & digit];
        std::uint32_t sum = 0;
        for (std::size_t d = 0; d <= digit; ++d) {
          auto const c = counts_[d];
          counts_[d] = sum;
          sum += c;
        }
        for (std::size_t i = 0; i < n; ++i) out[counts_[(in[i] >> bit) & digit]++] = in[i];
      };
      pass(keys_, spare_keys_, 32, low_bits);
      pass(spare_keys_, keys_, 32 + low_bits, high_bits);
    }
  }
  sort_ties();
}

void EventQueue::sort_ties() {
  auto const n = keys_.size();
  for (std::size_t i = 0; i < n;) {
    auto j = i + 1;
    while (j < n && (keys_[j] >> 32) == (keys_[i] >> 32)) ++j;
    if (j - i > 1)
      sort_by_port(i, j);
    else
      order_[i] = static_cast<std::uint32_t>(keys_[i]);
    i = j;
  }
}

void EventQueue::sort_by_port(std::size_t begin, std::size_t end) {
  for (auto i = begin; i < end; ++i) {
    auto const slot = static_cast<std::uint32_t>(keys_[i]);
    keys_[i] = (static_cast<std::uint64_t>(at(slot).to) << 32) | slot;
  }
  if (end - begin <= kInsertionSort)
    insertion_sort(keys_.data() + begin, end - begin);
  else
    std::sort(keys_.begin() + static_cast<std::ptrdiff_t>(begin),
              keys_.begin() + static_cast<std::ptrdiff_t>(end));
  for (auto i = begin; i < end; ++i) order_[i] = static_cast<std::uint32_t>(keys_[i]);
  for (auto i = begin; i < end;) {
    auto j = i + 1;
    while (j < end && (keys_[j] >> 32) == (keys_[i] >> 32)) ++j;
    if (j - i > 1)
      std::sort(order_.begin() + static_cast<std::ptrdiff_t>(i),
                order_.begin() + static_cast<std::ptrdiff_t>(j),
                [this](std::uint32_t a, std::uint32_t b) { return precedes_at_same_time(at(a), at(b)); });
    i = j;
  }
  // The run's keys served their purpose; sort_ties looks only at later ones.
}

std::uint64_t EventQueue::bytes_reserved() const {
  return slabs_.size() * (sizeof(Event) << kSlabBits) + before_.capacity() * 4 + free_chunks_.capacity() * 4 +
         near_slots_.capacity() * sizeof(Event) + levels_.size() * sizeof(Level) +
         (keys_.capacity() + spare_keys_.capacity()) * 8 + order_.capacity() * 4;
}

}  // namespace farfault
