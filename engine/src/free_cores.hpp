// SPDX-License-Identifier: Apache-2.0
// Private: the free cores of a schedule of events that take one step each.
//
// Events are placed after the events that they depend on, each at the first step at
// which it is ready and a core is free. A step with a free core at the end had one all along, so no event
// that was ready then runs later: the schedule is greedy. Memory: 2 bytes per step between forget() and the
// last step taken, none for 4,096 steps without a free core.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>

namespace farfault {

class FreeCores {
 public:
  explicit FreeCores(std::uint32_t cores) : cores_(cores) {}

  // Takes a core at the first step at or after `ready` with a free core, and returns the step.
  std::uint64_t take(std::uint64_t ready);
  // No later event will be ready before this step.
  void forget(std::uint64_t before);
  // Chunks of 4,096 steps each.
  std::uint64_t chunks_kept() const { return kept_; }

 private:
  static constexpr unsigned kBits = 12;
  static constexpr std::uint64_t kSteps = std::uint64_t{1} << kBits;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  struct Chunk {
    Chunk() { free.fill(~std::uint64_t{0}); }
    std::uint64_t words = ~std::uint64_t{0};      // bit w: free[w] is not 0
    std::array<std::uint64_t, kSteps / 64> free;  // bit s: step s has a free core
    std::array<std::uint16_t, kSteps> busy{};
  };
  struct Place {
    std::unique_ptr<Chunk> chunk;  // null: all cores are taken in it
    std::uint64_t next;            // itself, or a later chunk with no free core in between
  };

  Place& place(std::uint64_t chunk) { return places_[chunk - first_]; }
  void extend(std::uint64_t chunk);
  std::uint64_t next_with_room(std::uint64_t chunk);
  static std::uint64_t first_free(Chunk const& chunk, std::uint64_t from);

  std::uint32_t cores_;
  std::uint64_t first_ = 0;  // the chunk of places_.front()
  std::uint64_t kept_ = 0;
  std::deque<Place> places_;
};

}  // namespace farfault
