// SPDX-License-Identifier: Apache-2.0
#include "workers.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "affinity.hpp"
#include "arena.hpp"
#include "farfault/engine/error.hpp"
#include "host.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace farfault {

namespace {

// About 50 us: longer than most rounds, shorter than a scheduler's time slice.
constexpr int kSpins = 2000;

void pause_a_moment() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#endif
}

// Costs are distinguished by their number of bits, up to this many.
constexpr std::uint32_t kCosts = 16;

constexpr std::uint64_t word_of(std::uint64_t round, std::uint64_t next, std::uint64_t end) {
  return round << 32 | end << 16 | next;
}

// Ends the leader's work after a task has failed; the failure itself is stored separately.
struct Over {};

}  // namespace

Workers::Workers(std::uint32_t threads, std::uint32_t tasks, bool bind)
    : threads_(threads),
      tasks_(tasks),
      crowded_(std::uint64_t{threads} * ranks_on_host() > cores_of_process()),
      spins_(crowded_ ? 0 : kSpins),
      offers_(threads),
      order_(tasks),
      bounds_(std::size_t{threads} * kCosts + 1),
      affinity_(bind ? std::make_unique<Affinity>(threads) : nullptr) {
  if (threads_ > 1) arena_ = std::make_unique<Arena>(threads_);
}

Workers::~Workers() = default;

void Workers::run(std::function<void()> const& lead) {
  lead_ = &lead;
  over_.store(false);
  gone_.store(0);
  members_.store(0);
  if (arena_)
    arena_->call_on_each([](void* self) { static_cast<Workers*>(self)->join(); }, this);
  else
    join();
  FF_CHECK(gone_.load() == threads_, "not all worker threads have finished");
  failed_.store(false);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

// A thread of oneTBB, or the caller's, takes part in a run.
void Workers::join() {
  // The first thread to arrive leads, so that the run never waits for a missing thread.
  auto const member = members_.fetch_add(1);
  bool const bound = affinity_ && affinity_->bind(member);
  if (member == 0) {
    try {
      (*lead_)();
    } catch (Over const&) {
    } catch (...) {
      keep_failure();
    }
    over_.store(true);
    ring();
  } else {
    help(member);
  }
  if (bound) affinity_->release();
  gone_.fetch_add(1);
}

void Workers::help(std::uint32_t member) {
  std::uint64_t seen = 0;
  int spins = 0;
  while (!over_.load(std::memory_order_acquire)) {
    auto const round = round_.load(std::memory_order_acquire);
    if (round != seen) {
      seen = round;
      spins = 0;
      work(member, round);
    } else if (spins < spins_) {
      ++spins;
      pause_a_moment();
    } else {
      sleep(seen);
      spins = 0;
    }
  }
}

// The leader stores a round and then looks for sleepers; a sleeper announces itself and then looks for a
// round: at least one of them sees the other.
void Workers::sleep(std::uint64_t seen) {
  auto const bell = bell_.load();
  sleepers_.fetch_add(1);
  if (round_.load() == seen && !over_.load()) bell_.wait(bell);
  sleepers_.fetch_sub(1);
}

void Workers::ring() {
  if (sleepers_.load() == 0) return;
  bell_.fetch_add(1);
  bell_.notify_all();
}

// Keeps the first failure of a run, which the run rethrows.
void Workers::keep_failure() {
  if (!failed_.exchange(true)) failure_ = std::current_exception();
}

// Counting sort, so that the leader's cost is proportional to the round's turns.
void Workers::offer(std::span<Turn const> turns, std::uint64_t round) {
  auto place = [&](Turn const& turn) {
    auto const member = static_cast<std::uint32_t>(std::uint64_t{turn.task} * threads_ / tasks_);
    auto const bits = std::min(static_cast<std::uint32_t>(std::bit_width(turn.cost)), kCosts - 1);
    return member * kCosts + (kCosts - 1 - bits);
  };
  std::fill(bounds_.begin(), bounds_.end(), 0);
  for (auto const& turn : turns) ++bounds_[place(turn) + 1];
  for (std::size_t i = 1; i < bounds_.size(); ++i) bounds_[i] += bounds_[i - 1];
  std::uint64_t first = 0;
  for (std::uint32_t member = 0; member < threads_; ++member) {
    std::uint64_t const end = bounds_[(member + 1) * kCosts];
    offers_[member].word.store(word_of(round, first, end), std::memory_order_relaxed);
    first = end;
  }
  for (auto const& turn : turns) order_[bounds_[place(turn)]++] = turn.task;
}

void Workers::work(std::uint32_t member, std::uint64_t round) {
  for (std::uint32_t i = 0; i < threads_; ++i) {
    auto& offered = offers_[member + i < threads_ ? member + i : member + i - threads_].word;
    auto word = offered.load(std::memory_order_acquire);
    for (;;) {
      auto const next = word & 0xFFFF;
      if (word >> 32 != (round & 0xFFFF'FFFF) || next == (word >> 16 & 0xFFFF)) break;
      if (!offered.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel)) continue;
      // The round cannot end before this task is done, so order_ remains valid.
      try {
        (*task_)(order_[next]);
      } catch (...) {
        keep_failure();
      }
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
      word = offered.load(std::memory_order_acquire);
    }
  }
}

void Workers::round(std::span<Turn const> turns, std::function<void(std::uint32_t)> const& task) {
  task_ = &task;
  left_.store(static_cast<std::uint32_t>(turns.size()), std::memory_order_relaxed);
  auto const number = round_.load(std::memory_order_relaxed) + 1;
  offer(turns, number);
  round_.store(number);
  ring();
  work(0, number);
  for (int spins = 0; spins < spins_ && left_.load(std::memory_order_acquire) != 0; ++spins) pause_a_moment();
  for (auto left = left_.load(std::memory_order_acquire); left != 0;) {
    left_.wait(left, std::memory_order_acquire);
    left = left_.load(std::memory_order_acquire);
  }
  if (failed_.load()) throw Over{};
}

}  // namespace farfault
