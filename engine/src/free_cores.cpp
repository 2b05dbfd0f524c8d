// SPDX-License-Identifier: Apache-2.0
#include "free_cores.hpp"

#include <algorithm>
#include <bit>

namespace farfault {

void FreeCores::extend(std::uint64_t chunk) {
  while (first_ + places_.size() <= chunk) {
    places_.push_back({std::make_unique<Chunk>(), first_ + places_.size()});
    ++kept_;
  }
}

std::uint64_t FreeCores::next_with_room(std::uint64_t chunk) {
  for (;;) {
    extend(chunk);
    auto& here = place(chunk);
    if (here.next == chunk) return chunk;
    extend(here.next);
    here.next = place(here.next).next;  // path halving for later look-ups
    chunk = here.next;
  }
}

// The first step of the chunk at or after `from` with a free core, or kNone.
std::uint64_t FreeCores::first_free(Chunk const& chunk, std::uint64_t from) {
  auto const word = from / 64;
  auto const rest = chunk.free[word] & (~std::uint64_t{0} << (from % 64));
  if (rest != 0) return word * 64 + static_cast<std::uint64_t>(std::countr_zero(rest));
  auto const later = word == 63 ? 0 : chunk.words & (~std::uint64_t{0} << (word + 1));
  if (later == 0) return kNone;
  auto const found = static_cast<std::uint64_t>(std::countr_zero(later));
  return found * 64 + static_cast<std::uint64_t>(std::countr_zero(chunk.free[found]));
}

std::uint64_t FreeCores::take(std::uint64_t ready) {
  ready = std::max(ready, first_ << kBits);
  auto const wanted = ready >> kBits;
  auto c = next_with_room(wanted);
  auto step = first_free(*place(c).chunk, c == wanted ? ready & (kSteps - 1) : 0);
  if (step == kNone) {
    c = next_with_room(c + 1);
    step = first_free(*place(c).chunk, 0);
  }
  auto& chunk = *place(c).chunk;
  if (++chunk.busy[step] == cores_) {
    chunk.free[step / 64] &= ~(std::uint64_t{1} << (step % 64));
    if (chunk.free[step / 64] == 0) chunk.words &= ~(std::uint64_t{1} << (step / 64));
    if (chunk.words == 0) {
      place(c) = {nullptr, c + 1};
      --kept_;
    }
  }
  return (c << kBits) | step;
}

void FreeCores::forget(std::uint64_t before) {
  for (; first_ < before >> kBits && !places_.empty(); ++first_) {
    if (places_.front().chunk) --kept_;
    places_.pop_front();
  }
}

}  // namespace farfault
